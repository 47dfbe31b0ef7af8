"""Probabilities or logits: a distribution is given one of the two, and works out the other."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


def one_of(probs: Any, logits: Any) -> str:
    """The name of the one that is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "logits" if probs is None else "probs"


class Chances(Distribution):
    """Of trials that succeed or not, one for each of the batch.

    Other parameters broadcast with the probabilities.
    """

    def _hold_chances(self, probs: Any, logits: Any, validate_args: bool | None,
                      **others: Any) -> None:  # fmt: skip
        name = one_of(probs, logits)
        given = probs if logits is None else logits
        *tensors, given = broadcast_all(*others.values(), given)
        vars(self).update(zip(others, [t.to(given.dtype) for t in tensors], strict=True))
        vars(self)[name] = self._param = given
        Distribution.__init__(self, given.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def param_shape(self) -> Any:
        return self._param.size()
