"""The binomial distribution: successes of so many trials."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.probabilities import Chances
from wgtorch.nn.functional import softplus

__all__ = ["Binomial"]


class Binomial(Chances):
    """C(total_count, k) probs^k (1 - probs)^(total_count - k)"""

    total_count: Tensor
    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        self._hold_chances(probs, logits, validate_args, total_count=total_count)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with wgtorch.no_grad():
            return wgtorch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * softplus(self.logits)

    def _count(self, of: str) -> int:
        """The one number of trials of the whole batch."""
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{of}`.")
        return most

    def entropy(self) -> Tensor:
        self._count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = wgtorch.arange(1 + self._count("enumerate_support"))
        return self._enumerated(values.to(self._param), expand)
