"""Laplace's distribution: exponential to both sides."""

from __future__ import annotations

from math import sqrt
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions.draws import between
from wgtorch.distributions.location_scale import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """exp(-|x - loc| / scale) / (2 scale)"""

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(between(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        from_middle = value - 0.5
        return self.loc - self.scale * from_middle.sign() * (-2 * from_middle.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
