"""One-hot vectors relaxed to points of the simplex, with gradients (Maddison, Jang 2017)."""

from __future__ import annotations

from math import lgamma
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.categorical import Choices
from wgtorch.distributions.draws import gumbels
from wgtorch.distributions.relaxed_bernoulli import Relaxed
from wgtorch.distributions.transforms import ExpTransform

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Choices):
    """The logarithms of RelaxedOneHotCategorical's points"""

    support = constraints.real_vector
    has_rsample = True
    _shared = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        self.temperature = temperature
        self._hold_choices(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = gumbels(self._extended_shape(sample_shape), self.logits)
        return ((self.logits + noise) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self._event_shape[0]
        temperature = self.logits.new_ones(()) * self.temperature
        score = (self.logits - value * temperature).log_softmax(-1).sum(-1)
        return score + lgamma(k) + (k - 1) * temperature.log()


class RelaxedOneHotCategorical(Relaxed):
    """softmax((logits + g) / temperature) of Gumbel-distributed g"""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
