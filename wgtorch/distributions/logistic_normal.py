"""The logistic normal distribution, of points of the simplex."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.normal import Normal
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Stick breaking of normal numbers, one fewer than there are parts"""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _checked_inside = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.base_dist.scale
