"""Indexing by several tensors at once, as `x[i, :, j]` does, read and written.

Masks become the places where they hold. The indexed dimensions are brought together, and one
index into all of them is worked out, so that what is left is an index into one dimension.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from wgtorch.config import outside
from wgtorch.dtype import bool_, int8, int16, int32, int64, uint8
from wgtorch.layout import broadcast
from wgtorch.op import Index, Map, composite, declare
from wgtorch.ops.batched import refuse_mask
from wgtorch.ops.indexing import beyond, check_size, rows
from wgtorch.ops.masks import columns
from wgtorch.ops.samples import bools, normal
from wgtorch.ops.scattering import lowest_index
from wgtorch.storage import View

LIMIT = 1 << 31  # what an index on a GPU counts to


@declare(
    Map,
    shader="joint_index.wgsl",
    shape=lambda input, index, **_: broadcast(input, index),
    dtype=lambda input, index, **_: int64,
    numbers=lambda facts: (
        facts.attrs["size"],
        facts.attrs["first"],
        lowest_index(facts.attrs["name"], facts.attrs["size"]),
    ),
    places=lambda facts: {
        "input": facts.layouts[0].expand(facts.out.shape),
        "index": facts.layouts[1].expand(facts.out.shape),
    },
    complaint=lambda facts: both(**facts.attrs),
    promotes=False,
    samples=lambda rng: [
        ((rng.integers(0, 3, (3, 1)), rng.integers(-4, 4, (5,)), 4, 1), {}),
        ((rng.integers(-3, 3, (3,)), rng.integers(-4, 4, (3,)), 4, 1), {"first": 3}),
        ((rng.integers(0, 3, (3, 1)), rng.integers(0, 4, (3, 2)), 4, 1), {"name": "gather"}),
    ],
    torch="none",
)
def _joint_index(input: Index, index: Index, size: int, dim: int, first: int = 0,
                 name: str = "index"):  # fmt: skip
    """One index into two dimensions seen as one: `input` rows of `size`, and `index` in them.

    `first` is the size of the dimension of `input` if that is still unchecked. `name` is of the op
    whose `index` it is, which may count from the end or not.
    """
    if first:
        input = rows("index", input, first, dim - 1, -first)
    return input.astype(np.int64) * size + rows(name, index, size, dim, lowest_index(name, size))


def both(size: int, dim: int, first: int, name: str) -> str:
    """What a GPU says; it does not tell which of the two was wrong."""
    said = beyond(name, dim, size)
    if not first:
        return said
    return f"{beyond('index', dim - 1, first)}, or for dimension {dim} with size {size}"


class Route:
    """How to get from `input` to one index into one dimension of it.

    `merged` is the input with the indexed dimensions as one, at `dim`, and `index` the index into
    it; `back` brings what has the shape of `merged` into the input's own.
    """

    def __init__(self, input: Any, indices: Sequence[Any]):
        found = opened(input, indices)
        given = [d for d, index in enumerate(found) if index is not None]
        common = together([found[d] for d in given])
        self.shape, self.order = input.layout.shape, None
        if given != list(range(given[0], given[-1] + 1)):
            rest = [d for d in range(input.ndim) if d not in given]
            self.order = (*given, *rest)
            input = input.permute(self.order)
        self.dim = 0 if self.order else given[0]
        self.permuted = input.layout.shape
        index, sizes = found[given[0]], [self.shape[d] for d in given]
        check_size(sizes, common)
        if len(given) > 1 and prod(sizes) >= LIMIT and input.device.type != "cpu":
            raise RuntimeError(f"index: dimensions {sizes} are too large to be indexed together")
        for k, d in enumerate(given[1:], 1):
            index = index._joint_index(found[d], sizes[k], d, sizes[0] if k == 1 else 0)
        self.index = index.expand(common)
        self.merged = input.flatten(self.dim, self.dim + len(given) - 1)

    def back(self, result: Any) -> Any:
        result = result.reshape(self.permuted)
        if self.order is None:
            return result
        return result.permute(tuple(int(d) for d in np.argsort(self.order)))


def opened(input: Any, indices: Sequence[Any]) -> list[Any]:
    """An integer index, or None, for each dimension: masks become indices."""
    found: list[Any] = []
    for place, index in enumerate(indices):
        if index is None:
            found.append(None)
        elif index.dtype in (bool_, uint8):
            check_mask(input, index, place, len(found))
            found += columns_of(index)
        elif index.dtype in (int64, int32, int16, int8):
            if index.dtype in (int16, int8):
                raise IndexError(NO_INDEX)
            found.append(index)
        else:
            raise IndexError(NO_INDEX)
    if len(found) > input.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {input.ndim} (got {len(found)})"
        )
    return found + [None] * (input.ndim - len(found))


NO_INDEX = "tensors used as indices must be long, int, byte or bool tensors"


def check_mask(input: Any, mask: Any, place: int, dim: int) -> None:
    if mask.dtype is uint8:
        warnings.warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool"
            " instead.",
            UserWarning,
            stacklevel=outside(),
        )
    for d, size in enumerate(mask.layout.shape):
        if dim + d >= input.ndim or input.layout.shape[dim + d] != size:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {d} does not match the shape of"
                f" the indexed tensor {list(input.shape)} at index {dim + d}"
            )


def columns_of(mask: Any) -> list[Any]:
    refuse_mask(mask)
    return columns(mask.to(bool_)._places(), mask.layout.shape)


def together(indices: list[Any]) -> tuple[int, ...]:
    try:
        return broadcast(*[index.layout.shape for index in indices])
    except RuntimeError:
        shapes = ", ".join(str(list(index.shape)) for index in indices)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def lone_index(input: Any, indices: Sequence[Any]) -> int | None:
    """Where the only index is, if it is one of integers: it leads straight to one dimension."""
    given = [d for d, index in enumerate(indices) if index is not None]
    if len(given) != 1 or given[0] >= input.ndim:
        return None
    return given[0] if indices[given[0]].dtype in (int64, int32) else None


def lone_mask(input: Any, indices: Sequence[Any]) -> int | None:
    """Where the only index is, if it is a mask that fits."""
    given = [d for d, index in enumerate(indices) if index is not None]
    if len(given) != 1 or indices[given[0]].dtype not in (bool_, uint8):
        return None
    mask = indices[given[0]]
    check_mask(input, mask, given[0], given[0])
    return given[0] if mask.ndim else None


@composite(samples=None)
def _index_by(input, indices):
    "What `input[indices]` is; an index is a tensor, or None where all of a dimension is meant."
    place = lone_index(input, indices)
    if place is not None:
        return input._index(indices[place], place)
    place = lone_mask(input, indices)
    if place is not None:
        refuse_mask(indices[place])
        mask = indices[place].to(bool_)
        if mask.ndim == input.ndim:
            return input._chosen(mask)
        flat = input.flatten(place, place + mask.ndim - 1)
        return flat._index(mask._places(), place)
    route = Route(input, indices)
    return route.merged._index(route.index, route.dim)


@composite(
    inplace=True, takes_over=True, apart="all",
    samples=lambda rng: [
        ((normal(rng, 4, 3), (rng.permutation(4)[:2],), normal(rng, 3)), {}),
        ((normal(rng, 4, 3), (bools(rng, 4, 3),), normal(rng, 1)), {}),
        ((normal(rng, 4, 3), (rng.integers(0, 4, 7), rng.integers(-3, 3, 7)), normal(rng, 7)),
         {"accumulate": True}),
    ],
)  # fmt: skip
def index_put(input, indices, values, accumulate: bool = False):
    """`input` with `input[indices]` replaced by `values`, which broadcast; added with `accumulate`.

    Where an index repeats, sums are deterministic for rows of several elements, and which of
    several values replaces an element is not.
    """
    if isinstance(indices, View):
        raise TypeError(
            "index_put(): argument 'indices' (position 1) must be tuple of Tensors, not Tensor"
        )
    number = None if isinstance(values, View) else values
    if number is not None:
        values = input.new_full((), number)
    if values.dtype is not input.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {input.dtype.short}"
            f" for the destination and {values.dtype.short} for the source."
        )
    place = None if accumulate or values.layout.numel != 1 else lone_mask(input, indices)
    if place is not None:
        mask = indices[place]
        mask = mask.reshape((*mask.shape, *(1,) * (input.ndim - place - mask.ndim)))
        value = values.reshape(()) if number is None else number
        return input.masked_fill(mask, value)
    place = lone_index(input, indices)
    if place is not None:
        return put_at(input, indices[place], values, place, accumulate)
    route = Route(input, indices)
    return route.back(put_at(route.merged, route.index, values, route.dim, accumulate))


def put_at(input: Any, index: Any, values: Any, dim: int, accumulate: bool) -> Any:
    """One index into one dimension."""
    shape = input.layout.shape
    check_size(shape[dim : dim + 1], index.layout.shape)
    wanted = (*shape[:dim], *index.layout.shape, *shape[dim + 1 :])
    if values.layout.shape != wanted:
        try:
            values = values.expand(wanted)
        except RuntimeError:
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to"
                f" indexing result of shape {list(wanted)}"
            ) from None
    write = input._index_add if accumulate else input._index_put
    return write(index, values, dim, "index_put")
