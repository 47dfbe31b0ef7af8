"""Categorical distributions: one of several, by weight."""

from __future__ import annotations

from math import nan
from typing import Any

import wgtorch
from wgtorch import Size, Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.probabilities import one_of
from wgtorch.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)

__all__ = ["Categorical"]


class Categorical(Distribution):
    """An index of the last dimension of `probs`, which are made to sum to 1, or of `logits`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        name = one_of(probs, logits)
        given = probs if logits is None else logits
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if logits is None:
            self.probs = self._param = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = self._param = logits.log_softmax(-1)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @property
    def param_shape(self) -> Size:
        return self._param.size()

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return self._param.new_full(self._extended_shape(), nan)

    variance = mean

    @property
    def mode(self) -> Tensor:
        return self._param.argmax(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with wgtorch.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = rows.multinomial(Size(sample_shape).numel(), True)
            return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index, logits = broadcast_all(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        finite = self.logits.clamp(min=wgtorch.finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        every = wgtorch.arange(self._num_events, device=self._param.device)
        return self._enumerated(every, expand)


class Choices(Distribution):
    """Of vectors with an element for each of the categories that `probs` or `logits` weigh."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _checked_inside = True

    def _hold_choices(self, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self._categorical = Categorical(probs, logits, validate_args=validate_args)
        self._categorical._validate_args = False  # of values: they are checked here
        shape = self._categorical.param_shape
        Distribution.__init__(self, shape[:-1], shape[-1:], validate_args)

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape
