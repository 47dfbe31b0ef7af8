"""The half-normal distribution: sizes of normal numbers."""

from __future__ import annotations

from math import inf, log, pi, sqrt
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.normal import Normal
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.transforms import AbsTransform

__all__ = ["HalfNormal"]


class Half(TransformedDistribution):
    """Of sizes, whose density is twice that of a symmetric base distribution."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return self.scale * 0

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (self.base_dist.log_prob(value) + log(2)).masked_fill(value < 0, -inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - log(2)


class HalfNormal(Half):
    """|x| of a normal x of mean 0"""

    def __init__(self, scale: Any, validate_args: bool | None = None):
        super().__init__(Normal(0, scale, False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * sqrt(2 / pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / pi)
