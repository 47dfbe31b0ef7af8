"""Kullback and Leibler's divergence of two distributions, by the most specific pair of classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Tensor]
_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}
_KL_MEMOIZE: dict[tuple[type, type], Divergence | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """A decorator of the function (p, q) -> KL(p || q) for two classes and what derives from them.

    Where several pairs fit, the closest in the order of inheritance counts.
    """
    for given, name in ((type_p, "type_p"), (type_q, "type_q")):
        if not (isinstance(given, type) and issubclass(given, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {given}")

    def enter(divergence: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = divergence
        _KL_MEMOIZE.clear()
        return divergence

    return enter


def found(type_p: type, type_q: type) -> Divergence | None:
    """The function of the closest pair; if p and q disagree which that is, p's, with a warning."""
    p, q = type_p.__mro__, type_q.__mro__
    fits = [pair for pair in _KL_REGISTRY if pair[0] in p and pair[1] in q]
    if not fits:
        return None
    by_p = min(fits, key=lambda pair: (p.index(pair[0]), q.index(pair[1])))
    by_q = min(fits, key=lambda pair: (q.index(pair[1]), p.index(pair[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please"
            f" register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean over p of log p(x) - log q(x), for each of the batch.

    NotImplementedError where no pair of classes that fits is registered.
    """
    kinds = type(p), type(q)
    if kinds not in _KL_MEMOIZE:
        _KL_MEMOIZE[kinds] = found(*kinds)
    divergence = _KL_MEMOIZE[kinds]
    if divergence is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {kinds[0].__name__} and q type"
            f" {kinds[1].__name__}"
        )
    return divergence(p, q)
