"""The normal distribution."""

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions.draws import normals
from wgtorch.distributions.exp_family import ExponentialFamily
from wgtorch.distributions.location_scale import LocationScale

__all__ = ["Normal"]

HALF_LOG_2PI = log(2 * pi) / 2


class Normal(LocationScale, ExponentialFamily):
    """exp(-(x - loc)^2 / (2 scale^2)) / (scale sqrt(2 pi))"""

    _mean_carrier_measure = 0

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + normals(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(((value - self.loc) / self.scale) ** 2) / 2 - self.scale.log() - HALF_LOG_2PI

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return wgtorch.special.ndtr((value - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * sqrt(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (0.5 + HALF_LOG_2PI)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * (-pi / y).log()
