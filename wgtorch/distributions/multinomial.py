"""The multinomial distribution: how often each of several was drawn."""

from __future__ import annotations

from math import inf
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.binomial import Binomial
from wgtorch.distributions.categorical import Choices
from wgtorch.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Choices):
    """total_count! prod probs_k^x_k / x_k!, counts x of `total_count` draws"""

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._hold_choices(probs, logits, validate_args)

    @property
    def _binomial(self) -> Binomial:
        """Of each count by itself."""
        return Binomial(self.total_count, probs=self.probs, validate_args=False)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with wgtorch.no_grad():
            drawn = self._categorical.sample((self.total_count, *sample_shape))
            counts = self.probs.new_zeros(self._extended_shape(sample_shape))
            if not self.total_count:
                return counts
            index = drawn.permute(*range(1, drawn.dim()), 0)
            return counts.scatter_add(-1, index, counts.new_ones(()).expand(index.shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -inf), 0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = wgtorch.tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        counts = self._binomial.enumerate_support(False)[1:]
        chances = self._binomial.log_prob(counts).exp()
        repeated = (chances * (counts + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - (n + 1).lgamma() + repeated
