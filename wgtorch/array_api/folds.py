"""Sums, extremes and their like, by the array API standard. `axis` is one or several, None all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wgtorch
from wgtorch import Tensor

__all__ = ["all", "any", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max",
           "mean", "min", "prod", "std", "sum", "var"]  # fmt: skip


def folded(op: Callable, x: Tensor, axis: Any, keepdims: bool, **given: Any) -> Tensor:
    """A fold along no, one, several or all axes."""
    axes = tuple(range(x.ndim)) if axis is None else axis
    if axes == () or not x.ndim:
        shape = tuple(x.shape)
        return op(x.unsqueeze(-1), (-1,), False, **given).reshape(shape)
    return op(x, (axes,) if isinstance(axes, int) else tuple(axes), keepdims, **given)


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Integers are summed as int64, unless a dtype is given."""
    return folded(lambda x, dims, keep: x.sum(dims, keep, dtype=dtype), x, axis, keepdims)


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Integers are multiplied as int64, unless a dtype is given."""

    def op(x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
        for d in sorted((d % x.ndim for d in dims), reverse=True):
            x = x.prod(d, keep, dtype=dtype)
        return x

    return folded(op, x, axis, keepdims)


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest; NaN wins."""
    return folded(wgtorch.amax, x, axis, keepdims)


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest; NaN wins."""
    return folded(wgtorch.amin, x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The arithmetic mean."""
    return folded(lambda x, dims, keep: x.mean(dims, keep), x, axis, keepdims)


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0,
        keepdims: bool = False) -> Tensor:  # fmt: skip
    """The variance, divided by the count less the correction."""

    def op(x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
        return x.var(dims, correction=correction, keepdim=keep)

    return folded(op, x, axis, keepdims)


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0,
        keepdims: bool = False) -> Tensor:  # fmt: skip
    """The square root of the variance."""
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all are nonzero, as bool."""
    return folded(lambda x, dims, keep: x.bool().all(dims, keep), x, axis, keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any is nonzero, as bool."""
    return folded(lambda x, dims, keep: x.bool().any(dims, keep), x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many are nonzero."""
    return sum(x != 0, axis=axis, keepdims=keepdims)


def only_axis(name: str, x: Tensor, axis: int | None) -> int:
    if axis is None and x.ndim != 1:
        raise ValueError(f"{name}: axis must be given for arrays of {x.ndim} dimensions")
    return 0 if axis is None else axis % x.ndim


def started(running: Tensor, axis: int, first: int, include_initial: bool) -> Tensor:
    if not include_initial:
        return running
    shape = [1 if d == axis else n for d, n in enumerate(running.shape)]
    start = wgtorch.full(shape, first, dtype=running.dtype, device=running.device)
    return wgtorch.cat((start, running), axis)


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: Any = None,
                   include_initial: bool = False) -> Tensor:  # fmt: skip
    """Running sums along an axis; the first is 0 with `include_initial`."""
    axis = only_axis("cumulative_sum", x, axis)
    return started(x.cumsum(axis, dtype=dtype), axis, 0, include_initial)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: Any = None,
                    include_initial: bool = False) -> Tensor:  # fmt: skip
    """Running products along an axis; the first is 1 with `include_initial`."""
    axis = only_axis("cumulative_prod", x, axis)
    return started(x.cumprod(axis, dtype=dtype), axis, 1, include_initial)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Tensor:  # fmt: skip
    """The n-th differences of neighbours along an axis."""
    return wgtorch.diff(x, n, axis, prepend, append)
