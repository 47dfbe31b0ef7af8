"""Activations: functions of each element (or, as softmax, of each row), as modules."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, full
from wgtorch.nn import functional as F
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter


class Activation(Module):
    """Settings are attributes; `repr` shows them, `inplace` only where it is set."""

    settings: tuple[str, ...] = ()

    def _set(self, **settings: Any) -> None:
        super().__init__()
        for name, value in settings.items():
            setattr(self, name, value)

    def extra_repr(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in self.settings]
        if getattr(self, "inplace", False):
            shown.append("inplace=True")
        return ", ".join(shown)


class ReLU(Activation):
    """max(x, 0)."""

    def __init__(self, inplace: bool = False):
        self._set(inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class ReLU6(Activation):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False):
        self._set(inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)


class ELU(Activation):
    """x where positive, alpha (exp(x) - 1) elsewhere."""

    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self._set(alpha=alpha, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(Activation):
    """max(x, 0) + min(0, alpha (exp(x / alpha) - 1))."""

    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self._set(alpha=alpha, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(Activation):
    """A scaled ELU that keeps mean 0 and variance 1: Klambauer et al. 2017."""

    def __init__(self, inplace: bool = False):
        self._set(inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class LeakyReLU(Activation):
    """x where positive, negative_slope x elsewhere."""

    settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        self._set(negative_slope=negative_slope, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class SiLU(Activation):
    """x sigmoid(x), also called swish."""

    def __init__(self, inplace: bool = False):
        self._set(inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(Activation):
    """x tanh(softplus(x))."""

    def __init__(self, inplace: bool = False):
        self._set(inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Hardsigmoid(Activation):
    """relu6(x + 3) / 6."""

    def __init__(self, inplace: bool = False):
        self._set(inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Activation):
    """x relu6(x + 3) / 6."""

    def __init__(self, inplace: bool = False):
        self._set(inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class GELU(Activation):
    """x times the normal distribution function of x; approximate="tanh" is faster."""

    settings = ("approximate",)

    def __init__(self, approximate: str = "none"):
        self._set(approximate=approximate)

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class GLU(Activation):
    """First half of dimension `dim` times the sigmoid of the second."""

    settings = ("dim",)

    def __init__(self, dim: int = -1):
        self._set(dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class Softplus(Activation):
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""

    settings = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        self._set(beta=beta, threshold=threshold)

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Hardshrink(Activation):
    """x where |x| > lambd, 0 elsewhere."""

    def __init__(self, lambd: float = 0.5):
        self._set(lambd=lambd)

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(Activation):
    """x moved towards 0 by lambd, but not past it."""

    def __init__(self, lambd: float = 0.5):
        self._set(lambd=lambd)

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Sigmoid(Activation):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class LogSigmoid(Activation):
    """log(sigmoid(x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Tanh(Activation):
    """Hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Tanhshrink(Activation):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softsign(Activation):
    """x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Softmax(Activation):
    """exp(x) scaled to sum 1 along `dim`."""

    settings = ("dim",)

    def __init__(self, dim: int | None = None):
        self._set(dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(Activation):
    """log(softmax(x)) along `dim`, without overflow."""

    settings = ("dim",)

    def __init__(self, dim: int | None = None):
        self._set(dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmin(Activation):
    """softmax(-x) along `dim`."""

    settings = ("dim",)

    def __init__(self, dim: int | None = None):
        self._set(dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class Hardtanh(Activation):
    """x cut off at min_val and max_val."""

    settings = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        self._set(min_val=min_val, max_val=max_val, inplace=inplace)
        if self.max_val <= self.min_val:
            raise AssertionError("max_val must be larger than min_val")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Threshold(Activation):
    """x where x > threshold, `value` elsewhere."""

    settings = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        self._set(threshold=threshold, value=value, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class RReLU(Activation):
    """A leaky relu whose slope is random in training, and their mean in evaluation."""

    settings = ("lower", "upper")

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False):
        self._set(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(Activation):
    """A leaky relu whose slope is learned: one, or one for each channel (dimension 1)."""

    settings = ("num_parameters",)

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ):
        self._set(num_parameters=num_parameters, init=init)
        self.weight = Parameter(full((num_parameters,), init, device=device, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class Softmax2d(Activation):
    """Softmax over the channels of (batch, channels, height, width)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3)
