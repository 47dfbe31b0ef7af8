"""The geometric distribution: failures before the first success."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.draws import exponentials
from wgtorch.distributions.probabilities import Chances
from wgtorch.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(Chances):
    """probs (1 - probs)^k, k = 0, 1, ..."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._hold_chances(probs, logits, validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            what = f"parameter probs ({type(value).__name__} of shape {tuple(value.shape)})"
            self._demand(value > 0, value, lambda values:
                f"Expected {what} of distribution {self._told(values)} to be positive but found"
                " invalid values", broken=True)  # fmt: skip

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return self.probs * 0

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with wgtorch.no_grad():
            waits = exponentials(self._extended_shape(sample_shape), self.probs)
            return (waits / -(-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return value.xlog1py(-self.probs) + self.probs.log()

    def entropy(self) -> Tensor:
        entropy = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return entropy / self.probs
