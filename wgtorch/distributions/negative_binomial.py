"""The negative binomial distribution: successes before so many failures."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.gamma import Gamma
from wgtorch.distributions.probabilities import Chances
from wgtorch.distributions.utils import lazy_property
from wgtorch.nn.functional import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Chances):
    """C(total_count + k - 1, k) (1 - probs)^total_count probs^k, k = 0, 1, ..."""

    total_count: Tensor
    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        self._hold_chances(probs, logits, validate_args, total_count=total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        """Of the rates of Poisson numbers that are these."""
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with wgtorch.no_grad():
            return wgtorch.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        ways = ways.masked_fill(n + value == 0, 0)
        return n * logsigmoid(-logits) + value * logsigmoid(logits) + ways
