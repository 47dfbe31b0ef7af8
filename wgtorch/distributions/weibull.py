"""Weibull's distribution."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.exponential import Exponential
from wgtorch.distributions.gumbel import EULER
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.transforms import AffineTransform, PowerTransform
from wgtorch.distributions.utils import broadcast_all

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """scale x^(1 / concentration) of an exponential x of rate 1"""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(self.scale.new_ones(self.scale.shape), validate_args=False)
        power = PowerTransform(self.concentration_reciprocal)
        super().__init__(base, [power, AffineTransform(0, self.scale)], validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        c = self.concentration
        return self.scale * ((c - 1) / c) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        first, second = ((1 + n * self.concentration_reciprocal).lgamma() for n in (1, 2))
        return self.scale.pow(2) * (second.exp() - (2 * first).exp())

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return EULER * (1 - inverse) + (self.scale * inverse).log() + 1
