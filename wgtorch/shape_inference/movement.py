"""The shapes of views, of what is joined or looked up, and of patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wgtorch import cat, einops, stack
from wgtorch.shape_inference.dims import normalize_dim
from wgtorch.shape_inference.rule import Indices, Shape, Shapes, rule


@rule
def reshape_shape(shape: Shape, size: Sequence[int]) -> Any:
    return shape.reshape(tuple(size))


@rule
def expand_shape(shape: Shape, size: Sequence[int]) -> Any:
    return shape.expand(tuple(size))


@rule
def flatten_shape(shape: Shape, start_dim: int = 0, end_dim: int = -1) -> Any:
    return shape.flatten(start_dim, end_dim)


@rule
def permute_shape(shape: Shape, dims: Sequence[int]) -> Any:
    return shape.permute(tuple(dims))


@rule
def transpose_shape(shape: Shape, dim0: int, dim1: int) -> Any:
    return shape.transpose(dim0, dim1)


@rule
def t_shape(shape: Shape) -> Any:
    return shape.t()


@rule
def matrix_transpose_shape(shape: Shape) -> Any:
    return shape.mT


@rule
def squeeze_shape(shape: Shape, dim: int | Sequence[int] | None = None) -> Any:
    return shape.squeeze() if dim is None else shape.squeeze(dim)


@rule
def unsqueeze_shape(shape: Shape, dim: int) -> Any:
    return shape.unsqueeze(dim)


@rule
def select_shape(shape: Shape, dim: int, index: int) -> Any:
    return shape.select(dim, index)


@rule
def narrow_shape(shape: Shape, dim: int, start: int, length: int) -> Any:
    return shape.narrow(dim, start, length)


@rule
def slice_shape(shape: Shape, dim: int, start: int | None = None, end: int | None = None,
                step: int = 1) -> Any:  # fmt: skip
    at = normalize_dim(dim, shape.ndim)
    return shape[(slice(None),) * at + (slice(start, end, step),)]


@rule
def at_shape(shape: Shape, *index: Any) -> Any:
    """Of `x[index]`, for ints, slices, None and Ellipsis."""
    return shape[index]


@rule
def tile_shape(shape: Shape, dims: Sequence[int]) -> Any:
    return shape.tile(tuple(dims))


@rule
def diag_shape(shape: Shape, diagonal: int = 0) -> Any:
    return shape.diag(diagonal)


# Joins, indices


@rule
def cat_shape(shapes: Shapes, dim: int = 0) -> Any:
    return cat(shapes, dim)


@rule
def stack_shape(shapes: Shapes, dim: int = 0) -> Any:
    return stack(shapes, dim)


@rule
def gather_shape(shape: Shape, dim: int, index: Indices) -> Any:
    return shape.gather(dim, index)


@rule
def scatter_shape(shape: Shape, dim: int, index: Indices) -> Any:
    return shape.scatter(dim, index, 0)


@rule
def index_select_shape(shape: Shape, dim: int, index: Indices) -> Any:
    return shape.index_select(dim, index)


# Patterns


@rule
def rearrange_shape(shape: Shape, pattern: str, **axes_lengths: int) -> Any:
    return einops.rearrange(shape, pattern, **axes_lengths)


@rule
def reduce_shape(shape: Shape, pattern: str, reduction: Any = "sum", **axes_lengths: int) -> Any:
    return einops.reduce(shape, pattern, reduction, **axes_lengths)


@rule
def repeat_shape(shape: Shape, pattern: str, **axes_lengths: int) -> Any:
    return einops.repeat(shape, pattern, **axes_lengths)


@rule
def pack_shape(shapes: Shapes, pattern: str) -> Any:
    return einops.pack(shapes, pattern)[0]


@rule
def unpack_shape(shape: Shape, packed_shapes: Sequence[Sequence[int]], pattern: str) -> Any:
    return einops.unpack(shape, packed_shapes, pattern)
