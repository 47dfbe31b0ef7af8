"""Categorical distributions whose samples are vectors with a single 1."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.categorical import Categorical
from wgtorch.distributions.distribution import Distribution
from wgtorch.nn.functional import one_hot

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """A vector with a 1 at an index that is drawn by weight, `probs` or `logits`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _checked_inside = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits, validate_args=validate_args)
        self._categorical._validate_args = False  # of values: they are checked here
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._hot(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _hot(self, index: Tensor) -> Tensor:
        return one_hot(index, self._event_shape[0]).to(self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with wgtorch.no_grad():
            return self._hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = wgtorch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view(n, *[1] * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with the gradient of the probabilities for that of samples (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
