"""Rows: whole slices written where a vector of numbers says (index_add, index_copy and kin).

Rows of at least `WIDE` floats are added in the order of the index, so `index_add`, accumulating
`index_put` and the gradients of `embedding`, `index_select` and `x[index]` are the same every time,
and the cpu's. Narrower ones meet in atomics (see scattering.py).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wgtorch.dtype import bool_, int64
from wgtorch.layout import Layout, without, wrap_dim
from wgtorch.lazy import Lazy
from wgtorch.op import Facts, Index, Other, Structured, composite, declare
from wgtorch.ops.arguments import as_element
from wgtorch.ops.grouping import Meeting, grouped
from wgtorch.ops.indexing import (
    INDEX_DTYPES,
    axes,
    check_long,
    rows,
    spread_base,
    spread_index,
)
from wgtorch.ops.samples import normal
from wgtorch.ops.scattering import SCATTERS, about, has_atomics, join, lowest_index, pushed
from wgtorch.storage import View

WIDE = 8
MUCH = 1 << 16  # elements, which are added one by one in half a millisecond
sparse = Lazy("scipy.sparse")


def rows_put(input, index, source, dim: int, name: str, how: str) -> np.ndarray:
    """The reference."""
    shape = input.shape
    out = input if input.ndim else input[None]
    size = out.shape[dim]
    if source.size:
        index = rows(name, index, size, dim, lowest_index(name, size))
        wide = source.size >= MUCH and source.size >= index.size * WIDE
        if wide and how == "sum" and dim == 0 and is_blank(out):
            add_rows(out.reshape(size, -1), index.ravel(), source.reshape(index.size, -1))
        else:
            join(out, (slice(None),) * dim + (index,), source, how)
    return out.reshape(shape)


def is_blank(out: np.ndarray) -> bool:
    """Whether all are +0, of real floats: a one times an infinity is only there just that."""
    return out.dtype.kind == "f" and out.flags.c_contiguous and not out.view(np.uint8).any()


def add_rows(out: np.ndarray, index: np.ndarray, source: np.ndarray) -> None:
    """Rows added to zeros in the order of the index, as a product with a matrix of few ones."""
    found = np.bincount(index, minlength=len(out))
    ends = np.concatenate([[0], np.cumsum(found)])
    ones, columns = np.ones(len(index), out.dtype), np.argsort(index, kind="stable")
    out += sparse.csr_array((ones, columns, ends), (len(out), len(index))) @ source


def rows_meeting(facts: Facts, how: str, layout: Layout, index: Layout) -> Meeting:
    """Rows of all dimensions but `dim`, each with its own index."""
    dim, source, rank = facts.attrs["dim"], facts.layouts[2], len(index.shape)
    shape, strides = source.shape, source.strides
    at = slice(dim, dim + rank)
    beside = (*shape[:dim], *shape[dim + rank :]), (*strides[:dim], *strides[dim + rank :])
    base = Layout.of(without(layout.shape, dim), without(layout.strides, dim), 0)
    return Meeting(
        index,
        Layout.of(index.shape, (0,) * rank, 0),
        1,
        layout.shape[dim],
        base,
        layout.strides[dim],
        Layout.of(*beside, source.offset),
        Layout.of(shape[at], strides[at], 0),
        *about(facts, how),
    )


def rows_plan(known: str):
    def plan(facts: Facts):
        layout, dim, index = axes(facts.out), facts.attrs["dim"], facts.layouts[1]
        base, dtype = spread_base(layout, dim, index), facts.out_dtypes[0]
        how = "amax" if dtype is bool_ and known == "sum" else known
        width = prod(without(layout.shape, dim))
        in_order = how == "sum" and dtype.is_floating_point and width >= WIDE
        if has_atomics(dtype, how) and not in_order:
            return pushed(facts, how, base, spread_index(layout, dim, index))
        return grouped(facts, rows_meeting(facts, how, layout, index))

    return plan


def rows_samples(rng):
    yield (normal(rng, 4, 3), rng.permutation(4)[:2], normal(rng, 2, 3), 0, "index_put"), {}
    yield (normal(rng, 5, 4).T, rng.permutation(5)[:3], normal(rng, 4, 3), 1, "index_put"), {}
    index = rng.permutation(4).reshape(2, 2) - 4
    yield (normal(rng, 2, 4, 3), index, normal(rng, 2, 2, 2, 3), 1, "index_put"), {}


@declare(
    Structured,
    **SCATTERS,
    plan=rows_plan("replace"),
    vjp={
        "input": lambda grad, index, source_shape, dim, name: grad._index_put(
            index, grad.new_zeros(()).expand(source_shape), dim, name
        ),
        "source": lambda grad, index, dim: grad._index(index, dim),
    },
    samples=rows_samples,
    complex=True,
)
def _index_put(input, index: Index, source, dim: int, name: str):
    "`input` with what `x[:, index]` is, along `dim`, replaced by `source`."
    return rows_put(input, index, source, dim, name, "replace")


@declare(
    Structured,
    **SCATTERS,
    plan=rows_plan("sum"),
    vjp={
        "input": lambda grad: grad,
        "source": lambda grad, index, dim: grad._index(index, dim),
    },
    samples=rows_samples,
    complex=True,
)
def _index_add(input, index: Index, source, dim: int, name: str):
    "`input` with `source` added to what `x[:, index]` is, along `dim`."
    return rows_put(input, index, source, dim, name, "sum")


# What users call


def samples(rng):
    yield (normal(rng, 4, 3), 0, rng.permutation(4)[:2], normal(rng, 2, 3)), {}
    yield (normal(rng, 5, 4).T, -1, rng.permutation(5)[:3], normal(rng, 4, 3)), {}


def repeating(rng):
    yield from samples(rng)
    yield (normal(rng, 2, 4, 3), 1, rng.integers(0, 4, 9), normal(rng, 2, 9, 3)), {"alpha": -2}


def check_index_add(input, dim: int, index, source) -> None:
    """PyTorch's complaints."""
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type:"
            f" {index.dtype.short} and size: {list(index.shape)}"
        )
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError(
            f"index_add_(): Expected dtype int32/int64 for index but got: {index.dtype.short}"
        )
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"index_add_(): self ({input.dtype.short}) and source ({source.dtype.short}) must have"
            f" the same scalar type"
        )
    size = source.shape[dim] if dim < source.ndim else 1
    if index.numel() != size:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.numel()}) should be equal to"
            f" source.size(dim): ({size}), for dim: {dim}"
        )
    if beside(input, dim) != beside(source, dim):
        raise RuntimeError(
            f"source tensor shape must match self tensor shape, excluding the specified dimension."
            f" Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )


def beside(t: Any, dim: int) -> list[int]:
    return [n for d, n in enumerate(t.layout.shape) if d != dim]


def vector(index: Any) -> Any:
    return index if index.ndim else index.reshape((1,))


@composite(inplace=True, takes_over=True, apart="all", samples=repeating)
def index_add(input, dim: int, index, source, *, alpha: float = 1):
    """`input` with `alpha` times each slice of `source` along `dim` added where `index` says.

    `index` is a vector (int32 or int64), and may name a slice several times: slices of at least 8
    elements are added in its order, the same every time.
    """
    dim = wrap_dim(dim, input.ndim)
    check_index_add(input, dim, index, source)
    if alpha != 1:
        whole = {0: bool, 1: int}.get(source.dtype.category)
        alpha = as_element(alpha, source.dtype) if isinstance(alpha, complex) else alpha
        source = source * (whole(alpha) if whole else alpha)
    if not input.ndim:
        return input + source.reshape(())
    return input._index_add(vector(index), source, dim, "index_add")


def check_index_copy(input, dim: int, index, source) -> None:
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim and input.ndim and source.ndim != input.ndim:
        raise IndexError(
            f"index_copy_(): When source and destination are not scalars, their dimensionality must"
            f" match. Source dimensionality ({source.ndim}), destination dimensionality"
            f" ({input.ndim})"
        )
    check_long("index_copy_", index)
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self)"
            f" {input.dtype.short} and (source) {source.dtype.short}"
        )
    if source.ndim and beside(input, dim) != beside(source, dim):
        raise RuntimeError(
            f"index_copy_(): Source/destination tensor must have same slice shapes. Destination"
            f" slice shape: {' '.join(map(str, beside(input, dim)))} at dimension {dim} and source"
            f" slice shape: {' '.join(map(str, beside(source, dim)))} at dimension {dim}."
        )
    size = source.shape[dim] if source.ndim else 1
    if index.numel() != size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.numel()}) should be equal to"
            f" source.size(dim) ({size})"
        )


@composite(inplace=True, takes_over=True, apart="all", samples=samples)
def index_copy(input, dim: int, index, source):
    "`input` with the slices along `dim` that the vector `index` (int64) names taken from `source`."
    dim = wrap_dim(dim, input.ndim)
    check_index_copy(input, dim, index, source)
    shape = (*input.shape[:dim], index.numel(), *input.shape[dim + 1 :])
    source = source.reshape(shape if input.ndim else (1,))
    return input._index_put(vector(index), source, dim, "index_copy")


@composite(
    inplace=True,
    takes_over=True,
    apart="all",
    samples=lambda rng: [
        ((normal(rng, 4, 3), 0, np.array([2, 0]), 1.5), {}),
        ((normal(rng, 5, 4).T, 1, np.array([-1, 0]), -2), {}),
    ],
)
def index_fill(input, dim: int, index, value: Other):
    "`input` with its slices along `dim` that the vector `index` (int64) names filled with `value`."
    dim = wrap_dim(dim, input.ndim)
    if index.dtype is not int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, View):
        if value.layout.shape:
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with"
                f" {value.ndim} dimension(s)."  # type: ignore[attr-defined]
            )
        source = value.to(input.dtype)  # type: ignore[attr-defined]
        if source.requires_grad:  # once for each slice, however often it is named
            named = index.new_zeros((input.shape[dim] if input.ndim else 1,), dtype=bool_)
            named = named.index_fill(0, index, True)
            wide = [-1 if d == dim else 1 for d in range(input.ndim)]
            return input.masked_fill(named.reshape(tuple(wide)), source)
    else:
        source = input.new_full((), value)
    shape = (*input.layout.shape[:dim], index.numel(), *input.layout.shape[dim + 1 :])
    return input._index_put(vector(index), source.expand(shape), dim, "index_fill")


@composite(
    inplace=True,
    takes_over=True,
    apart="all",
    samples=lambda rng: [
        (
            (normal(rng, 4, 3), 0, rng.integers(0, 4, 6), normal(rng, 6, 3), how),
            {"include_self": own},
        )
        for how in ("prod", "mean", "amax", "amin")
        for own in (True, False)
    ],
)
def index_reduce(input, dim: int, index, source, reduce: str, *, include_self: bool = True):
    'As `index_add`, but joining by "prod", "mean", "amax" or "amin".'
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got"
            f" {reduce}."
        )
    dim = wrap_dim(dim, input.ndim)
    check_index_add(input, dim, index, source)
    shape = [1] * source.ndim
    if shape:
        shape[dim] = -1
    index = index.reshape(tuple(shape)).expand(source.layout.shape)
    return input.scatter_reduce(dim, index, source, reduce, include_self=include_self)


@composite(
    inplace=True,
    takes_over=True,
    apart="all",
    samples=lambda rng: [
        ((normal(rng, 4, 3), rng.permutation(12)[:4], normal(rng, 4)), {}),
        ((normal(rng, 4, 3), rng.integers(-12, 12, 6), normal(rng, 6)), {"accumulate": True}),
    ],
)
def put(input, index, source, accumulate: bool = False):
    "`input` with `source` at `index` (int64), as if it had one dimension."
    check_long("put_", index)
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype ="
            f" {input.dtype.short} and source.dtype = {source.dtype.short}"
        )
    if index.numel() != source.numel():
        raise RuntimeError(
            f"put_(): Expected source and index to have the same number of elements, but got"
            f" source.numel() = {source.numel()}, index.numel() = {index.numel()}"
        )
    flat, source = input.reshape((-1,)), source.reshape(index.layout.shape)
    if accumulate:
        return flat._index_add(index, source, 0, "put").reshape(input.layout.shape)
    return flat._index_put(index, source, 0, "put").reshape(input.layout.shape)
