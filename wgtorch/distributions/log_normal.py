"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.normal import Normal
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """exp(x) of a normal x"""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _checked_inside = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
