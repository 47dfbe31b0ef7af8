"""Answers of users' functions of numpy: arrays of the shape and the kind that is due.

The arrays that such a function is given are tensors' own memory, which it may read and not write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wgtorch.dtype import bfloat16
from wgtorch.errors import KernelSignatureMismatchError

RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}  # a number of one is also one of those above
NO_NUMBER = 4
KINDS = ("bools", "integers", "floats", "complex numbers")
Due = tuple[Sequence[int], int]  # shape, and rank of the numbers


def read_only(arg: Any) -> Any:
    """An argument for a user's function."""
    if isinstance(arg, list | tuple):
        return [read_only(a) for a in arg]
    if not isinstance(arg, np.ndarray):
        return arg
    seen = arg.view()
    seen.flags.writeable = False
    return seen


def rank(kind: np.dtype) -> int:
    return 2 if kind == bfloat16.np else RANKS.get(kind.kind, NO_NUMBER)


def fitted(who: str, result: Any, due: Due) -> np.ndarray:
    """What a function returned, as an array: never its own memory, which it may write again."""
    try:
        array = np.asarray(result).view()
    except ValueError:  # lists of several lengths
        array = np.asarray(None)
    shape, most = due
    found = rank(array.dtype)
    if array.shape == tuple(shape) and found <= most:
        return array
    got = repr(result) if found == NO_NUMBER else f"{array.dtype} of shape {list(array.shape)}"
    raise KernelSignatureMismatchError(
        f"{who}: the function returned {got}, but an array of {KINDS[most]} of shape"
        f" {list(shape)} is due"
    )


def fitted_all(who: str, results: Any, due: Sequence[Due]) -> list[np.ndarray]:
    """The same of several."""
    if not isinstance(results, tuple | list) or len(results) != len(due):
        count = f"{len(results)} results" if isinstance(results, tuple | list) else repr(results)
        raise KernelSignatureMismatchError(
            f"{who}: the function returned {count}, but a tuple of {len(due)} arrays is due"
        )
    return [fitted(who, *pair) for pair in zip(results, due, strict=True)]
