"""Transforms of numbers, each by itself."""

from __future__ import annotations

from math import log
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.independent import sum_rightmost
from wgtorch.distributions.mapping import SameKind, Transform
from wgtorch.distributions.utils import lazy_property
from wgtorch.nn.functional import softplus


class ExpTransform(SameKind):
    """y = exp(x)"""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x^exponent"""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.exponent = exponent

    def _remade(self, cache_size: int) -> Transform:
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and same(self.exponent, other.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return wgtorch.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


class SigmoidTransform(SameKind):
    """y = 1 / (1 + exp(-x)), within what the dtype tells from 0 and 1"""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        facts = wgtorch.finfo(x.dtype)
        return x.sigmoid().clamp(min=facts.tiny, max=1 - facts.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        facts = wgtorch.finfo(y.dtype)
        y = y.clamp(min=facts.tiny, max=1 - facts.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(SameKind):
    """y = log(1 + exp(x))"""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(SameKind):
    """y = tanh(x)"""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh^2) without what cancels
        return 2 * (log(2) - x - softplus(-2 * x))


class AbsTransform(SameKind):
    """y = |x|, of which -y is a source as well as y; the inverse gives y."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale x, of events of `event_dim` dimensions"""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        dims = self._event_dim
        return constraints.independent(constraints.real, dims) if dims else constraints.real

    codomain = domain

    def _remade(self, cache_size: int) -> Transform:
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return same(self.loc, other.loc) and same(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else x.new_full((), self.scale)
        change = scale.abs().log()
        return sum_rightmost(change.expand(wgtorch.broadcast_shapes(change.shape, x.shape)),
                             self._event_dim)  # fmt: skip

    def forward_shape(self, shape: Any) -> Any:
        return wgtorch.broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    inverse_shape = forward_shape


def same(left: Any, right: Any) -> bool:
    """Whether two parameters, numbers or tensors, are equal everywhere."""
    equal = left == right
    return bool(equal.all()) if isinstance(equal, Tensor) else equal


class CumulativeDistributionTransform(Transform):
    """y = cdf(x) of a distribution"""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _remade(self, cache_size: int) -> Transform:
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
