"""The continuous Bernoulli distribution, of numbers from 0 to 1 (Loaiza-Ganem, Cunningham 2019)."""

from __future__ import annotations

from math import log
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.draws import between
from wgtorch.distributions.exp_family import ExponentialFamily
from wgtorch.distributions.probabilities import Chances
from wgtorch.distributions.utils import clamp_probs, lazy_property, logits_to_probs
from wgtorch.nn.functional import softplus

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Chances, ExponentialFamily):
    """C probs^x (1 - probs)^(1 - x), C = logits / tanh(logits / 2)

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

    @lazy_property
    def probs(self) -> Tensor:  # type: ignore[override]
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _by_series(self) -> tuple[Tensor, Tensor, Tensor]:
        """(where series are taken, logits kept away from there, probs - 1 / 2)."""
        low, high = self._lims
        near = (self.probs > low) & (self.probs <= high)
        return near, self.logits.masked_fill(near, 1), self.probs - 0.5

    @property
    def _log_constant(self) -> Tensor:
        near, logits, x = self._by_series()
        exact = logits.abs().log() - (logits / 2).tanh().abs().log()
        square = x.pow(2)
        return (log(2) + (4 / 3 + 104 / 45 * square) * square).where(near, exact)

    @property
    def mean(self) -> Tensor:
        near, logits, x = self._by_series()
        exact = -1 / (-logits).expm1() - 1 / logits
        return (0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x).where(near, exact)

    @property
    def variance(self) -> Tensor:
        near, logits, x = self._by_series()
        exact = logits.pow(-2) - (2 * (logits / 2).sinh()).pow(-2)
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
        near, logits, _ = self._by_series()
        falls = -logits.abs()  # exp of it does not overflow
        share = (falls * value).expm1() / falls.expm1()
        exact = share * (falls * (1 - value)).exp().where(logits > 0, 1)
        inside = value.where(near, exact).masked_fill(value <= 0, 0)
        return inside.masked_fill(value >= 1, 1)

    def icdf(self, value: Tensor) -> Tensor:
        near, logits, _ = self._by_series()
        falls, up = -logits.abs(), logits > 0
        exact = ((1 - value).where(up, value) * falls.expm1()).log1p() / falls
        return value.where(near, (1 - exact).where(up, exact))

    def entropy(self) -> Tensor:
        return softplus(self.logits) - self.mean * self.logits - self._log_constant

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = (log(p / (1 - p)) for p in self._lims)
        near = (x > low) & (x < high)
        away = x.masked_fill(near, low)
        exact = away.expm1().abs().log() - away.abs().log()
        return (0.5 * x + x.pow(2) / 24 - x.pow(4) / 2880).where(near, exact)
