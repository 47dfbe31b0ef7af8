"""Kumaraswamy's distribution, of numbers from 0 to 1."""

from __future__ import annotations

from math import nan
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.gumbel import EULER
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.transforms import AffineTransform, PowerTransform
from wgtorch.distributions.uniform import Uniform
from wgtorch.distributions.utils import broadcast_all

__all__ = ["Kumaraswamy"]


def moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    """The mean of x^n."""
    ratio = 1 + n / a
    return (ratio.lgamma() + b.lgamma() - (ratio + b).lgamma()).exp() * b


class Kumaraswamy(TransformedDistribution):
    """a b x^(a - 1) (1 - x^a)^(b - 1), a = concentration1, b = concentration0"""

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any,
                 validate_args: bool | None = None):  # fmt: skip
        both = broadcast_all(concentration1, concentration0)
        self.concentration1, self.concentration0 = both
        one = self.concentration0.new_ones(self.concentration0.shape)
        base = Uniform(one * 0, one, validate_args=False)
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(1 / a)
        return mode.masked_fill((a < 1) | (b < 1), nan)

    @property
    def variance(self) -> Tensor:
        second = moment(self.concentration1, self.concentration0, 2)
        return second - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + EULER
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
