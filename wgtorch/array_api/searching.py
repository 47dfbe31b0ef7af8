"""Places, sets and order, by the array API standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import wgtorch
from wgtorch import Tensor
from wgtorch.array_api.dtypes import result_type

__all__ = ["argmax", "argmin", "argsort", "nonzero", "searchsorted", "sort", "take",
           "take_along_axis", "unique_all", "unique_counts", "unique_inverse", "unique_values",
           "where"]  # fmt: skip


class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the largest is, as int64; the first of equals."""
    return wgtorch.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the smallest is, as int64; the first of equals."""
    return wgtorch.argmin(x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """An index for each axis, of what is not zero."""
    if not x.ndim:
        raise ValueError("nonzero: an array of no dimensions has no axes")
    return tuple(x.nonzero(as_tuple=True))


def searchsorted(
    x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where x2 would go in the vector x1, which is sorted, or which `sorter` would sort."""
    return wgtorch.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """x1 where the condition holds, x2 elsewhere; one may be a number."""
    dtype = result_type(x1, x2)
    first, second = (
        x.to(dtype) if isinstance(x, Tensor)
        else wgtorch.full((), x, dtype=dtype, device=condition.device)
        for x in (x1, x2)
    )  # fmt: skip
    return wgtorch.where(condition, first, second)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The layers with these numbers along an axis, which vectors need not name."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: axis must be given for arrays of {x.ndim} dimensions")
    axis = 0 if axis is None else axis % x.ndim
    size = x.shape[axis]
    places = wgtorch.where(indices < 0, indices + size, indices).to(wgtorch.int64)
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    return x.index_select(axis, places.flatten()).reshape(shape)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements with these numbers along an axis; the other axes broadcast."""
    axis = axis % x.ndim
    sizes = [max(a, b) for a, b in zip(x.shape, indices.shape, strict=True)]
    wide = [x.shape[d] if d == axis else n for d, n in enumerate(sizes)]
    deep = [indices.shape[d] if d == axis else n for d, n in enumerate(sizes)]
    places = wgtorch.where(indices < 0, indices + x.shape[axis], indices).to(wgtorch.int64)
    return x.expand(wide).gather(axis, places.expand(deep))


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The order that sorts x along an axis; equal ones stay in order."""
    return wgtorch.sort(x, dim=axis, descending=descending, stable=stable).indices


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Sorted along an axis."""
    return wgtorch.sort(x, dim=axis, descending=descending, stable=stable).values


def unique_all(x: Tensor, /) -> UniqueAll:
    """(values, where each is first, which of them each element is, how often each is); sorted."""
    flat = x.flatten()
    values, inverse, counts = wgtorch.unique(flat, return_inverse=True, return_counts=True)
    order = wgtorch.argsort(inverse, stable=True)
    first = order[counts.cumsum(0) - counts] if len(values) else order
    return UniqueAll(values, first, inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """(values, how often each is); sorted."""
    return UniqueCounts(*wgtorch.unique(x.flatten(), return_counts=True))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """(values, which of them each element is); sorted."""
    values, inverse = wgtorch.unique(x.flatten(), return_inverse=True)
    return UniqueInverse(values, inverse.reshape(x.shape))


def unique_values(x: Tensor, /) -> Tensor:
    """Each value once, sorted; each NaN counts as another."""
    return wgtorch.unique(x.flatten())
