"""The continuous Bernoulli distribution, of numbers from 0 to 1 (Loaiza-Ganem, Cunningham 2019)."""

from __future__ import annotations

from math import log
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.draws import between
from wgtorch.distributions.exp_family import ExponentialFamily
from wgtorch.distributions.probabilities import Chances
from wgtorch.distributions.utils import clamp_probs
from wgtorch.nn.functional import softplus

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Chances, ExponentialFamily):
    """C probs^x (1 - probs)^(1 - x), C = 2 atanh(1 - 2 probs) / (1 - 2 probs)

    Where probs are between `lims`, in whose middle formulas divide 0 by 0, series are taken.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501),
                 validate_args: bool | None = None):  # fmt: skip
        self._hold_chances(probs, logits, None)
        if validate_args is not None:
            self._validate_args = validate_args
        if logits is None:
            if self._validate_args:
                self._demand_probs()
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims

    def _demand_probs(self) -> None:
        holds = constraints.unit_interval.check(self.probs)
        self._demand(holds, None, lambda values: "The parameter probs has invalid values")

    def _by_series(self) -> tuple[Tensor, Tensor, Tensor]:
        """(where series are taken, probs kept away from there, probs - 1 / 2)."""
        low, high = self._lims
        near = (self.probs > low) & (self.probs <= high)
        return near, self.probs.masked_fill(near, low), self.probs - 0.5

    @property
    def _log_constant(self) -> Tensor:
        near, p, x = self._by_series()
        exact = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        square = x.pow(2)
        return (log(2) + (4 / 3 + 104 / 45 * square) * square).where(near, exact)

    @property
    def mean(self) -> Tensor:
        near, p, x = self._by_series()
        exact = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        return (0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x).where(near, exact)

    @property
    def variance(self) -> Tensor:
        near, p, x = self._by_series()
        exact = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / ((-p).log1p() - p.log()).pow(2)
        square = x.pow(2)
        return (1 / 12 - (1 / 15 - 128 / 945 * square) * square).where(near, exact)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(between(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return value * self.logits - softplus(self.logits) + self._log_constant

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        near, p, _ = self._by_series()
        exact = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        inside = value.where(near, exact).masked_fill(value <= 0, 0)
        return inside.masked_fill(value >= 1, 1)

    def icdf(self, value: Tensor) -> Tensor:
        near, p, _ = self._by_series()
        exact = (-p + value * (2 * p - 1)).log1p() - (-p).log1p()
        return value.where(near, exact / (p.log() - (-p).log1p()))

    def entropy(self) -> Tensor:
        p = self.probs
        below, above = (-p).log1p(), p.log()
        return self.mean * (below - above) - self._log_constant - below

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = (log(p / (1 - p)) for p in self._lims)
        near = (x > low) & (x < high)
        away = x.masked_fill(near, low)
        exact = away.expm1().abs().log() - away.abs().log()
        return (0.5 * x + x.pow(2) / 24 - x.pow(4) / 2880).where(near, exact)
