"""Dims: checked, put in, taken out, changed; and what shapes and dtypes have in common."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from wgtorch.create import result_type
from wgtorch.dtype import DType, bool_, get_default_dtype, promote_types
from wgtorch.layout import wrap_dim
from wgtorch.queries import broadcast_shapes
from wgtorch.shape_inference.rule import Shape, placeholder
from wgtorch.size import Size


class ShapeRule(Enum):
    """How the shape of an op's result follows from those of its inputs."""

    SAME = "same"
    BROADCAST = "broadcast"
    REDUCTION = "reduction"
    MATMUL = "matmul"
    MM = "mm"
    MV = "mv"
    DOT = "dot"


class DTypeRule(Enum):
    """How the dtype of an op's result follows from those of its inputs."""

    SAME = "same"
    FLOAT = "float"  # integers become the default dtype
    PROMOTE = "promote"
    BOOLEAN = "boolean"


# Questions


def rank(shape: Sequence[int]) -> int:
    """How many dimensions."""
    return len(shape)


def is_2d(shape: Sequence[int]) -> bool:
    return len(shape) == 2


def is_at_least_1d(shape: Sequence[int]) -> bool:
    return len(shape) >= 1


# The same shape, the common shape


def identity_shape(shape: Shape) -> Size:
    return Size(shape)


def broadcast_shape(*shapes: Shape) -> Size:
    return broadcast_shapes(*shapes)


def normalize_dim(dim: int, rank: int) -> int:
    """A dim counted from the front; IndexError where there is none."""
    return wrap_dim(dim, rank)


validate_chunk_dim = validate_split_dim = validate_unbind_dim = normalize_dim


def with_dim_checked(shape: Shape, dim: int) -> Size:
    normalize_dim(dim, len(shape))
    return Size(shape)


cum_shape = softmax_shape = with_dim_checked


def flip_shape(shape: Shape, dims: int | Sequence[int]) -> Size:
    for dim in (dims,) if isinstance(dims, int) else dims:
        normalize_dim(dim, len(shape))
    return Size(shape)


def binary_result(shape: Shape, dtype: DType, other: Shape, other_dtype: DType) -> tuple:
    """(shape, dtype) of an op of two tensors that broadcast."""
    tensors = placeholder(shape, dtype), placeholder(other, other_dtype)
    return broadcast_shapes(shape, other), result_type(*tensors)


def unary_dtype(dtype: DType, rule: DTypeRule = DTypeRule.SAME) -> DType:
    if rule is DTypeRule.BOOLEAN:
        return bool_
    return get_default_dtype() if rule is DTypeRule.FLOAT and dtype.category < 2 else dtype


def binary_dtype(dtype: DType, other: DType, rule: DTypeRule = DTypeRule.PROMOTE) -> DType:
    return unary_dtype(promote_types(dtype, other), rule)


# Put in, taken out, changed


def insert_dim(shape: Shape, dim: int, size: int) -> Size:
    at = normalize_dim(dim, len(shape) + 1)
    return Size((*shape[:at], size, *shape[at:]))


def remove_dim(shape: Shape, dim: int) -> Size:
    at = normalize_dim(dim, len(shape))
    return Size((*shape[:at], *shape[at + 1 :]))


def replace_dim(shape: Shape, dim: int, size: int) -> Size:
    at = normalize_dim(dim, len(shape))
    return Size((*shape[:at], size, *shape[at + 1 :]))


def scale_dim(shape: Shape, dim: int, factor: float) -> Size:
    """One size times a factor, which must leave it whole."""
    size = shape[normalize_dim(dim, len(shape))] * factor
    if size != int(size):
        raise ValueError(f"scale_dim: {shape[dim]} times {factor} is not whole")
    return replace_dim(shape, dim, int(size))
