"""The continuous Bernoulli distribution, of numbers from 0 to 1 (Loaiza-Ganem, Cunningham 2019)."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.draws import between
from wgtorch.distributions.exp_family import ExponentialFamily
from wgtorch.distributions.probabilities import Chances
from wgtorch.distributions.utils import clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]

# B_2n / (2n)! for n = 1, 2, ...: of them coth is made
COTH = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)
NEAR = 0.5  # logits for which these are enough in float64


def polynomial(x: Tensor, coefficients: list[float]) -> Tensor:
    """The first coefficient stands alone."""
    result = x * coefficients[-1] + coefficients[-2]
    for c in reversed(coefficients[:-2]):
        result = result * x + c
    return result


def apart(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(where series are taken, the logits, 1 there, and the logits, 0 elsewhere)."""
    near = logits.abs() < NEAR
    return near, logits.masked_fill(near, 1), logits.masked_fill(~near, 0)


class ContinuousBernoulli(Chances, ExponentialFamily):
    """exp(logits x - A), A = log((exp(logits) - 1) / logits), which is probs^x (1 - probs)^(1 - x)
    but for a factor.

    Where that is 0 / 0 series are taken, so that nothing depends on `lims`, which PyTorch takes.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501),
                 validate_args: bool | None = None):  # fmt: skip
        self._hold_chances(probs, logits, validate_args)
        if logits is None:
            self.probs = self._param = clamp_probs(self.probs)

    @lazy_property
    def probs(self) -> Tensor:  # type: ignore[override]
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        near, far, small = apart(x)
        size = far.abs()
        exact = far.clamp(min=0) + ((-size).expm1().neg() / size).log()
        square = small * small
        series = polynomial(square, [c / (2 * n + 2) for n, c in enumerate(COTH)])
        return (small / 2 + square * series).where(near, exact)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    @property
    def mean(self) -> Tensor:
        near, far, small = apart(self.logits)
        series = 0.5 + small * polynomial(small * small, list(COTH))
        return series.where(near, -1 / (-far).expm1() - 1 / far)

    @property
    def variance(self) -> Tensor:
        near, far, small = apart(self.logits)
        series = polynomial(small * small, [c * (2 * n + 1) for n, c in enumerate(COTH)])
        return series.where(near, far.pow(-2) - (2 * (far / 2).sinh()).pow(-2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(between(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return value * self.logits - self._log_normalizer(self.logits)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        falls, up = self._falls()
        share = (falls * value).expm1() / falls.expm1()
        inside = share * (falls * (1 - value)).exp().where(up, 1)
        return inside.masked_fill(value <= 0, 0).masked_fill(value >= 1, 1)

    def icdf(self, value: Tensor) -> Tensor:
        falls, up = self._falls()
        below = ((1 - value).where(up, value) * falls.expm1()).log1p() / falls
        return (1 - below).where(up, below)

    def _falls(self) -> tuple[Tensor, Tensor]:
        """(-|logits|, whose exp does not overflow, and never 0; where logits are positive)."""
        logits = self.logits.masked_fill(self.logits == 0, -1e-20)
        return -logits.abs(), logits > 0

    def entropy(self) -> Tensor:
        return self._log_normalizer(self.logits) - self.mean * self.logits
