"""The inverse gamma distribution."""

from __future__ import annotations

from math import inf
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.gamma import Gamma
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """1 / x of a gamma-distributed x"""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _checked_inside = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, inverse, validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        a = self.concentration
        return (self.rate / (a - 1)).where(a > 1, inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return (self.rate.square() / ((a - 1).square() * (a - 2))).where(a > 2, inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
