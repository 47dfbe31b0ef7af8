"""Keyed draws: each element has a generator of its own, so that it may draw as often as it must.

It is Philox with 64 random bits, two words of a common draw, as its key, and a counter from 0 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wgtorch.op import Facts, Pass
from wgtorch.philox import philox

MOST = 32  # blocks of four words; what draws by them needs more but once in 2^60
GROUP, MAX_GROUPS = 256, 65535
Floats = NDArray[np.float32]
Keys = NDArray[np.uint64]


def keys_of(words: Any) -> Keys:
    return np.ascontiguousarray(words, np.int32).view(np.uint32).reshape(-1, 2).astype(np.uint64)


def block(keys: Keys, counter: int) -> Floats:
    """Four numbers between 0 and 1, neither of them, for each key; shape (4, n)."""
    zero = np.zeros(len(keys), np.uint64)
    words = philox((zero + np.uint64(counter), zero, zero, zero), (keys[:, 0], keys[:, 1]))  # type: ignore[arg-type]
    odd = [(word >> np.uint64(9)).astype(np.float32) * 2 + 1 for word in words]
    return np.stack(odd) * np.float32(2.0**-24)


def blocks(keys: Keys, going: NDArray[np.bool_], most: int = MOST) -> Iterator[tuple[Any, Floats]]:
    """(which elements still go on, a block for each of them), until none does."""
    for counter in range(most):
        (open_,) = np.nonzero(going)
        if not len(open_):
            break
        yield open_, block(keys[open_], counter)


def rejected(tried: Callable[..., Any], otherwise: Floats, keys: Keys, *facts: Floats) -> Floats:
    """The first number that `tried(*facts, u, v)` accepts; -1/2 < u < 1/2 and 0 < v < 1."""
    out, going = otherwise, np.ones(len(otherwise), bool)
    for open_, numbers in blocks(keys, going):
        for u, v in (numbers[:2], numbers[2:]):
            k, fits = tried(*[fact[open_] for fact in facts], u - np.float32(0.5), v)
            fits &= going[open_]
            out[open_[fits]], going[open_[fits]] = k[fits], False
    return out


def each_drawn(facts: Facts, shader: str, *names: str) -> Pass | list[Pass]:
    """The plan of a shader that draws one number for each element of its first operand."""
    count = facts.out.numel
    groups = min(-(-count // GROUP), MAX_GROUPS)
    step = Pass(shader, (groups, 1, 1), (count,), names, front=("elementwise.wgsl",),
                places=tuple(zip(names, facts.layouts, strict=True)))  # type: ignore[arg-type]  # fmt: skip
    return step if count else []
