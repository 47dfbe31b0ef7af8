"""The generalized Pareto distribution, of what exceeds a threshold."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.draws import uniforms

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """(1 + k z)^(-1 / k - 1) / scale, z = (x - loc) / scale, k = concentration; exp(-z), k = 0"""

    loc: Tensor
    scale: Tensor
    concentration: Tensor
    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any,
                 validate_args: bool | None = None):  # fmt: skip
        self._hold(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, end.where(self.concentration < 0, inf))

    def _shape(self) -> tuple[Tensor, Tensor]:
        """(where the concentration is 0, the concentration, 1 there)."""
        none = self.concentration.abs() < 1e-12
        return none, self.concentration.masked_fill(none, 1)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(uniforms(self._extended_shape(sample_shape), self.loc))

    def log_survival_function(self, value: Tensor) -> Tensor:
        z, (none, k) = (value - self.loc) / self.scale, self._shape()
        return (-z).where(none, -(k * z).log1p() / k)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, (none, k) = (value - self.loc) / self.scale, self._shape()
        return (-z).where(none, -(1 + 1 / k) * (k * z).log1p()) - self.scale.log()

    def log_cdf(self, value: Tensor) -> Tensor:
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -self.log_survival_function(value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        none, k = self._shape()
        log_rest = (-value).log1p()
        return self.loc + self.scale * (-log_rest).where(none, (-k * log_rest).expm1() / k)

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        return (self.loc + self.scale / (1 - k)).where(k < 1, nan)

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        return (self.scale.pow(2) / ((1 - k).pow(2) * (1 - 2 * k))).where(k < 0.5, nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
