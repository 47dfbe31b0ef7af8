"""Integers given to ops of users: refused where the numpy function makes floats of them.

The result would have the integers' dtype, in which a cpu cuts it off and a shader does not compile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from wgtorch.dtype import DType, promote_types


def check_integers(name: str, function: Callable, arrays: dict[str, Any], attrs: dict[str, Any],
                   dtype: DType, remedy: str) -> None:  # fmt: skip
    """Tries the function on ones; a shape that it does not like is left to the call itself."""
    if dtype.category > 1:
        return
    try:
        with np.errstate(all="ignore"):
            made = function(**arrays, **attrs)
    except TypeError as error:
        raise TypeError(f"{name}(): its function takes no {dtype}: {error}") from None
    except Exception:
        return
    if any([np.asarray(m).dtype.kind in "fc" for m in (made if type(made) is tuple else (made,))]):
        raise TypeError(
            f"{name}(): its function makes floats of {dtype}, but its result is {dtype} too; use"
            f" .float(), or declare it with {remedy}"
        )


def ones(dtype: DType | None) -> Any:
    return None if dtype is None else np.ones(1, dtype.np)


def common_dtype(function: Callable, inputs: tuple[str, ...], count: int) -> Callable[..., Any]:
    """The dtype of a shader's results that say none: what the inputs promote to."""

    def answer(*dtypes: DType | None, **attrs: Any) -> Any:
        common = reduce(promote_types, [d for d in dtypes if d is not None])
        arrays = {n: ones(d) for n, d in zip(inputs, dtypes, strict=True)}
        check_integers(function.__name__, function, arrays, attrs, common,
                       f"dtype=lambda {', '.join(inputs)}: torch.float32")  # fmt: skip
        return (common,) * count if count else common

    return answer
