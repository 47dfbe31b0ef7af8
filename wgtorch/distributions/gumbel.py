"""Gumbel's distribution, of extremes."""

from __future__ import annotations

from math import pi
from typing import Any

from wgtorch import Tensor, finfo
from wgtorch.distributions import constraints
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.transforms import AffineTransform, ExpTransform
from wgtorch.distributions.uniform import Uniform
from wgtorch.distributions.utils import broadcast_all

__all__ = ["EULER", "Gumbel"]

EULER = 0.57721566490153286060


class Gumbel(TransformedDistribution):
    """exp(-(z + exp(-z))) / scale, z = (x - loc) / scale"""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        facts = finfo(self.loc.dtype)
        low = self.loc.new_full(self.loc.shape, facts.tiny)
        base = Uniform(low, 1 - facts.eps, validate_args=False)
        minus = AffineTransform(0, -1)
        transforms = [
            ExpTransform().inv, minus, ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]  # fmt: skip
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return pi / 6**0.5 * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)
