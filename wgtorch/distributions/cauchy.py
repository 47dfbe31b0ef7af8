"""Cauchy's distribution, which has no mean."""

from __future__ import annotations

from math import inf, log, nan, pi
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions.draws import between
from wgtorch.distributions.location_scale import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """1 / (pi scale (1 + ((x - loc) / scale)^2))"""

    @property
    def mean(self) -> Tensor:
        return self.loc.new_full(self.batch_shape, nan)

    @property
    def variance(self) -> Tensor:
        return self.loc.new_full(self.batch_shape, inf)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(between(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -log(pi) - self.scale.log() - ((value - self.loc) / self.scale).square().log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return log(4 * pi) + self.scale.log()
