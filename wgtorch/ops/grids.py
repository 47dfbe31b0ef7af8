"""Grids: tensors broadcast to one shape, coordinates, combinations, places counted row by row."""

from __future__ import annotations

import itertools
import warnings
from math import prod
from typing import Any

import numpy as np

from wgtorch.config import outside
from wgtorch.dtype import bool_, int64
from wgtorch.layout import broadcast
from wgtorch.op import composite
from wgtorch.ops.samples import normal
from wgtorch.storage import View

# Shapes made alike


@composite(samples=lambda rng: [((normal(rng, 3, 1), (2, 3, 4)), {})])
def broadcast_to(input, size):
    "The input expanded to `size`."
    return input.expand(tuple(size))


@composite(method=False, samples=lambda rng: [((normal(rng, 3, 1), normal(rng, 4)), {})])
def broadcast_tensors(*tensors):
    "The tensors expanded to their common shape."
    shape = broadcast(*[t.layout.shape for t in tensors])
    return tuple(t.expand(shape) for t in tensors)


def each_of(given: tuple) -> tuple:
    """Tensors that were given one by one, or in a list."""
    is_list = len(given) == 1 and isinstance(given[0], list | tuple)
    return tuple(given[0]) if is_list else given


def each_at_least(raised):
    def call(*tensors):
        if len(tensors) == 1 and isinstance(tensors[0], View):
            return raised(tensors[0])
        return tuple(raised(t) for t in each_of(tensors))

    return call


def raised_to(rank: int):
    def raised(t: Any) -> Any:
        if t.ndim >= rank:
            return t
        if rank == 3:
            return t.unsqueeze(2) if t.ndim == 2 else t.reshape((1, t.numel(), 1))
        return t.reshape((1,) * (rank - t.ndim) + tuple(t.layout.shape))

    return each_at_least(raised)


AT_LEAST = {rank: raised_to(rank) for rank in (1, 2, 3)}


@composite(method=False, samples=lambda rng: [((normal(rng),), {}), ((normal(rng, 3),), {})])
def atleast_1d(*tensors):
    "The tensors, those without dimensions as vectors."
    return AT_LEAST[1](*tensors)


@composite(method=False, samples=lambda rng: [((normal(rng),), {}), ((normal(rng, 3),), {})])
def atleast_2d(*tensors):
    "The tensors, vectors as rows of a matrix."
    return AT_LEAST[2](*tensors)


@composite(method=False, samples=lambda rng: [((normal(rng, 3),), {}), ((normal(rng, 3, 2),), {})])
def atleast_3d(*tensors):
    "The tensors with dimensions of size 1 added, up to three."
    return AT_LEAST[3](*tensors)


# Grids


@composite(
    method=False,
    samples=lambda rng: [
        ((normal(rng, 3), normal(rng, 2)), {"indexing": "ij"}),
        ((normal(rng, 3), normal(rng, 2), normal(rng, 4)), {"indexing": "xy"}),
    ],
)
def meshgrid(*tensors, indexing: str | None = None):
    "For each vector its grid of coordinates: a view that varies along the vector's own dimension."
    tensors = each_of(tensors)
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing"
            " argument.",
            UserWarning,
            stacklevel=outside(),
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    check_vectors(tensors)
    swapped = indexing == "xy" and len(tensors) > 1
    if swapped:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(t.numel() for t in tensors)
    grids = [
        t.reshape(tuple(-1 if d == k else 1 for d in range(len(shape)))).expand(shape)
        for k, t in enumerate(tensors)
    ]
    return (grids[1], grids[0], *grids[2:]) if swapped else tuple(grids)


def check_vectors(tensors: tuple) -> None:
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t!r}"
            )
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t.device != tensors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")


def vector_of(t: Any) -> Any:
    if t.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    return t


@composite(method=False, samples=lambda rng: [((normal(rng, 3), normal(rng, 2)), {})])
def cartesian_prod(*tensors):
    "All combinations of one element of each vector, as rows."
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    tensors = tuple(vector_of(t) for t in tensors)
    if len(tensors) == 1:
        return tensors[0]
    shape = tuple(t.numel() for t in tensors)
    grids = [
        t.reshape(tuple(-1 if d == k else 1 for d in range(len(shape)))).expand(shape)
        for k, t in enumerate(tensors)
    ]
    return tensors[0]._stack(grids, len(shape)).reshape((prod(shape), len(shape)))


@composite(
    samples=lambda rng: [
        ((normal(rng, 4),), {}),
        ((normal(rng, 4), 3), {}),
        ((normal(rng, 3), 2, True), {}),
    ],
    method=False,
)
def combinations(input, r: int = 2, with_replacement: bool = False):
    "All combinations of `r` elements of a vector, as rows."
    vector_of(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return input.new_zeros((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(input.numel()), r)), np.int64).reshape(-1, r)
    return input._index(input.new_tensor(rows, dtype=int64), 0)


@composite(method=False, samples=lambda rng: [((np.array([5, 0, 11]), (3, 4)), {})])
def unravel_index(indices, shape):
    "For places counted row by row in a tensor of `shape`: an index for each dimension."
    if indices.dtype.is_floating_point or indices.dtype is bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype!r}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(n < 0 for n in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    inside, found = 1, []
    for size in reversed(shape):
        found.append(indices.floor_divide(inside).remainder(size))
        inside *= size
    return tuple(found[::-1])
