"""Bernoulli's distribution relaxed to numbers from 0 to 1, with gradients (Maddison 2017)."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.draws import between
from wgtorch.distributions.probabilities import Chances
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.transforms import SigmoidTransform
from wgtorch.distributions.utils import clamp_probs
from wgtorch.nn.functional import softplus

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Chances):
    """The logits of RelaxedBernoulli's numbers"""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _shared = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        self.temperature = temperature
        self._hold_chances(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        probs = clamp_probs(self.probs.expand(self._extended_shape(sample_shape)))
        u = clamp_probs(between(probs.shape, probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        away = self.logits - value * self.temperature
        return self._log_temperature + away - 2 * softplus(away)

    @property
    def _log_temperature(self) -> Tensor:
        return self.logits.new_ones(()).mul(self.temperature).log()


class Relaxed(TransformedDistribution):
    """Of numbers of a base distribution that has a temperature, and probs or logits."""

    has_rsample = True
    _checked_inside = True

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs


class RelaxedBernoulli(Relaxed):
    """sigmoid((log(u / (1 - u)) + logits) / temperature) of a uniform u"""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
