"""The shapes of products, of matrices, and of what is taken out of them."""

from __future__ import annotations

from typing import Any

from wgtorch import einsum, linalg
from wgtorch.errors import EinsumError, LinalgError
from wgtorch.shape_inference.rule import Shape, Shapes, placeholder, rule
from wgtorch.size import Size


@rule
def matmul_shape(shape: Shape, other: Shape) -> Any:
    return shape @ other


@rule
def matmul2d_shape(shape: Shape, other: Shape) -> Any:
    return shape.mm(other)


@rule
def outer_shape(shape: Shape, other: Shape) -> Any:
    return shape.outer(other)


@rule
def trace_shape(shape: Shape) -> Any:
    return shape.trace()


@rule
def einsum_output_shape(equation: str, *shapes: Shapes) -> Any:
    return einsum(equation, *shapes)  # type: ignore[arg-type]


def einsum_shape(equation: str, *shapes: Shape) -> Size:
    """As `einsum_output_shape`; EinsumError says what is wrong, and where."""
    validate_operand_count(equation, len(shapes))
    tensors = [placeholder(shape) for shape in shapes]
    return einsum(equation, *tensors).shape  # type: ignore[arg-type]


def validate_operand_count(equation: str, count: int) -> None:
    """That there are as many operands as groups of subscripts."""
    groups = equation.split("->")[0].count(",") + 1
    if groups != count:
        raise EinsumError(f"einsum(): {equation!r} names {groups} operands, but {count} are given")


def validate_ranks(equation: str, *shapes: Shape) -> None:
    """That each operand has as many dims as subscripts, or more where there is an ellipsis."""
    groups = equation.split("->")[0].split(",")
    for place, (group, shape) in enumerate(zip(groups, shapes, strict=True)):
        letters = len(group.replace("...", "").replace(" ", ""))
        fits = letters <= len(shape) if "..." in group else letters == len(shape)
        if not fits:
            raise EinsumError(
                f"einsum(): the number of subscripts in the equation ({letters}) does not match the"
                f" number of dimensions ({len(shape)}) for operand {place}"
            )


def validate_einsum(equation: str, *shapes: Shape) -> None:
    """All that can be wrong with a call."""
    einsum_shape(equation, *shapes)


# Matrices


def validate_square_matrix(shape: Shape) -> Size:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise LinalgError(f"expected a square matrix, but got a tensor of shape {list(shape)}")
    return Size(shape)


def validate_batched_square_matrix(shape: Shape) -> Size:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise LinalgError(f"expected square matrices, but got a tensor of shape {list(shape)}")
    return Size(shape)


cholesky_shape = inverse_shape = validate_batched_square_matrix


def det_shape(shape: Shape) -> Size:
    return Size(validate_batched_square_matrix(shape)[:-2])


def eig_shape(shape: Shape) -> tuple[Size, Size]:
    """Of the eigenvalues and the eigenvectors."""
    return Size(validate_batched_square_matrix(shape)[:-1]), Size(shape)


@rule
def lu_shape(shape: Shape) -> Any:
    """Of P, L and U."""
    return linalg.lu(shape)  # type: ignore[attr-defined]


@rule
def svd_shape(shape: Shape, full_matrices: bool = True) -> Any:
    """Of U, S and Vh."""
    return linalg.svd(shape, full_matrices)  # type: ignore[attr-defined]


def validate_scalar(shape: Shape) -> None:
    """That `item()` has one element to give."""
    placeholder(shape).view(())
