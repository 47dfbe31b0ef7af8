"""Initial values: functions that fill a parameter in place, and return it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from numpy import diagonal, linalg, sign

from wgtorch import Tensor, from_numpy, no_grad, randn
from wgtorch.dispatch.blame import blaming

FIXED_GAINS = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "sigmoid": 1.0,
               "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much to scale weights so that `nonlinearity` keeps the variance of signals."""
    if nonlinearity in FIXED_GAINS:
        return FIXED_GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2 / (1 + slope**2))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform in [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Normal, cut off outside [a, b]: by the inverse of the distribution function."""

    def below(x: float) -> float:
        return (1 + math.erf(x / math.sqrt(2))) / 2

    if a > b:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={a:g} > to={b:g}"
        )
    low, high = sorted((below((a - mean) / std), below((b - mean) / std)))
    with no_grad():
        tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
        tensor.erfinv_().mul_(std * math.sqrt(2)).add_(mean)
        return tensor.clamp_(min=a, max=b)


def constant_(tensor: Tensor, val: float) -> Tensor:
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1)
        return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Convolution weights that keep their input, as far as there are channels for it."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs = tensor.shape[:2]
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    step = outputs // groups
    centre = tuple(n // 2 for n in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for d in range(min(step, inputs)):
                tensor[(group * step + d, d, *centre)] = 1
        return tensor


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output has, and how many outputs each input."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


_calculate_fan_in_and_fan_out = fans  # the name code written for PyTorch uses


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Glorot & Bengio 2010: variance 2 / (fan_in + fan_out), times gain squared."""
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Like `xavier_uniform_`, normally distributed."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))), generator)


def deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(tensor)[0 if mode.lower() == "fan_in" else 1]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """He et al. 2015: variance gain squared / fan; `a` is the slope of a leaky relu."""
    if is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Like `kaiming_uniform_`, normally distributed."""
    if is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, deviation(tensor, a, mode, nonlinearity), generator)


def is_empty(tensor: Tensor) -> bool:
    if tensor.numel() == 0:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return tensor.numel() == 0


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Rows (or columns, whichever are fewer) orthogonal to each other; worked out on the host."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    normal = randn(max(rows, columns), min(rows, columns), generator=generator).numpy()
    q, r = linalg.qr(normal)
    q = q * sign(diagonal(r))  # uniform over all of them: Mezzadri, math-ph/0609050
    result = from_numpy((q if rows >= columns else q.T).copy())
    with no_grad():
        return tensor.copy_(result.reshape(tensor.shape)).mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal, with the fraction `sparsity` of each column set to zero."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows = tensor.shape[0]
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        order = randn(*tensor.shape, device=tensor.device, generator=generator).argsort(0)
        return tensor.masked_fill_(order < zeros, 0)


for _name in [name for name in globals() if name.endswith("_") and name[0] != "_"]:
    globals()[_name] = blaming(globals()[_name], __name__)


def older(fill: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same under the name that it had before names said that they fill in place."""
    new = fill.__name__

    def call(*args: Any, **given: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{new[:-1]}` is now deprecated in favor of `nn.init.{new}`.",
            FutureWarning,
            stacklevel=2,
        )
        return fill(*args, **given)

    call.__name__ = call.__qualname__ = new[:-1]
    call.__doc__ = f"`{new}` under its older name; deprecated, as in PyTorch."
    return call


uniform, normal, constant = older(uniform_), older(normal_), older(constant_)
eye, dirac, orthogonal, sparse = older(eye_), older(dirac_), older(orthogonal_), older(sparse_)
xavier_uniform, xavier_normal = older(xavier_uniform_), older(xavier_normal_)
kaiming_uniform, kaiming_normal = older(kaiming_uniform_), older(kaiming_normal_)
