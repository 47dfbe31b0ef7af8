"""Linear equations and what stands on them: inverses, determinants, least squares. On the cpu."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import DType, int32
from wgtorch.errors import LinalgError
from wgtorch.layout import broadcast
from wgtorch.lazy import Lazy
from wgtorch.op import Structured, declare
from wgtorch.ops.matrices import (
    adjoint,
    each_matrix,
    matrices,
    square,
    transposed,
    well_conditioned,
    which,
    wide_floats,
)
from wgtorch.ops.samples import normal

lapack = blas = Lazy("scipy.linalg")


def zero_pivots(input: np.ndarray) -> np.ndarray:
    """For each matrix: the first diagonal element of U that is zero, from 1; 0 where none is."""

    def one(a: np.ndarray) -> tuple[Any]:
        if not a.size:
            return (np.int32(0),)
        return (np.int32(lapack.get_lapack_funcs("getrf", (a,))(a)[2]),)

    return each_matrix(one, input)[0] if input.size else np.zeros(input.shape[:-2], np.int32)


# Inverses


def inverted(input: np.ndarray) -> np.ndarray:
    """The inverses; where a matrix is singular, what its triangles make of that."""

    def one(a: np.ndarray) -> tuple[np.ndarray]:
        try:
            return (np.linalg.inv(a),)
        except np.linalg.LinAlgError:
            (factor,) = lapack.get_lapack_funcs(("getrf",), (a,))
            (solve,) = lapack.get_lapack_funcs(("getrs",), (a,))
            lu, pivots, _ = factor(a)
            return (solve(lu, pivots, np.eye(len(a), dtype=a.dtype))[0],)

    return each_matrix(one, input)[0] if input.size else input.copy()


def of_inverse(grad, result):
    across = transposed(result)
    return -across.matmul(grad).matmul(across)


@declare(
    Structured,
    shape=lambda input: square("linalg.inv", input),
    dtype=wide_floats("linalg.inv"),
    vjp={"input": of_inverse},
    samples=lambda rng: [
        ((well_conditioned(rng, 3, 3),), {}),
        ((well_conditioned(rng, 2, 4, 4),), {}),
    ],
    torch="-",
    complex=True,
)
def _inv(input):
    "The inverses of square matrices."
    for place, pivot in enumerate(zero_pivots(input).reshape(-1)):
        if pivot:
            raise LinalgError(
                f"linalg.inv: {which(place, input.ndim > 2)}The diagonal element {pivot} is zero,"
                " the inversion could not be completed because the input matrix is singular."
            )
    return inverted(input)


@declare(
    Structured,
    shape=lambda input: (square("linalg.inv_ex", input), input[:-2]),
    dtype=lambda input: (wide_floats("linalg.inv")(input), int32),
    outputs=("inverse", "info"),
    vjp={"input": lambda grad, results: of_inverse(grad, results[0])},
    samples=lambda rng: [((well_conditioned(rng, 3, 3),), {})],
    torch="-",
    complex=True,
)
def _inv_ex(input):
    "(inverse, info): `inv`, and which diagonal element of U was zero."
    return inverted(input), zero_pivots(input)


# Determinants


def adjugate(input: np.ndarray) -> np.ndarray:
    """det(A) A^-1, which exists where the inverse does not: V (products of the others) U^T."""
    u, s, vh = np.linalg.svd(input)
    size = input.shape[-1]
    others = np.stack([np.prod(np.delete(s, k, -1), -1) for k in range(size)], -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return sign[..., None, None] * (
        (vh.swapaxes(-1, -2).conj() * others[..., None, :]) @ u.swapaxes(-1, -2).conj()
    )


@declare(
    Structured,
    shape=lambda input: square("linalg.det", input),
    dtype=wide_floats("linalg.det", "lu_cpu"),
    vjp={"input": lambda grad, input, result: of_adjugate(grad, input, result)},
    samples=lambda rng: [((well_conditioned(rng, 3, 3),), {})],
    torch="-",
    complex=True,
)
def _adjugate(input):
    "The transposed cofactors of square matrices: det(A) A^-1 where there is an inverse."
    return adjugate(input).astype(input.dtype) if input.size else input.copy()


def of_adjugate(grad, input, result):
    """Of det(A) A^-1."""
    inverse = input._inv()
    across = transposed(inverse)
    total = (grad * inverse).sum((-2, -1), True) * input._det().unsqueeze(-1).unsqueeze(-1)
    return total * across - transposed(result).matmul(grad).matmul(across)


@declare(
    Structured,
    shape=lambda input: square("linalg.det", input)[:-2],
    dtype=wide_floats("linalg.det", "lu_cpu"),
    vjp={
        "input": lambda grad, input: (
            grad.unsqueeze(-1).unsqueeze(-1) * transposed(input._adjugate())
        )
    },
    samples=lambda rng: [
        ((well_conditioned(rng, 3, 3),), {}),
        ((well_conditioned(rng, 2, 4, 4),), {}),
    ],
    torch="linalg.det",
    complex=True,
)
def _det(input):
    "The determinants of square matrices."
    return np.linalg.det(input)


def of_slogdet(grad, input, results):
    """(of_size + i Im(of_sign sign*)) A^-H."""
    of_sign, of_size = grad
    if of_sign is not None and input.dtype.is_complex:
        turn = 1j * (of_sign * results[0].conj()).imag
        of_size = turn if of_size is None else of_size + turn
    if of_size is None:
        return input.new_zeros(tuple(input.shape))
    return of_size.unsqueeze(-1).unsqueeze(-1) * adjoint(input._inv())


@declare(
    Structured,
    shape=lambda input: (square("linalg.slogdet", input)[:-2],) * 2,
    dtype=lambda input: (wide_floats("linalg.slogdet")(input), input.to_real()),
    outputs=("sign", "logabsdet"),
    differentiable=(True, True),
    vjp={"input": of_slogdet},
    samples=lambda rng: [((well_conditioned(rng, 2, 3, 3),), {})],
    torch="linalg.slogdet",
    complex=True,
    holomorphic=False,
)
def _linalg_slogdet(input):
    "(sign, logabsdet): of the determinant, and the logarithm of its size."
    return tuple(np.linalg.slogdet(input))


# Equations


def same_dtype(op: str):
    rule = wide_floats(op)

    def both(A: DType, B: DType, **attrs: Any) -> DType:
        if A is not B:
            raise RuntimeError(
                f"{op}: Expected A and B to have the same dtype, but found A of type {A.short} and"
                f" B of type {B.short} instead"
            )
        return rule(A)

    return both


def solution_shape(op: str, a, b, left: bool):
    square(op, a)
    matrices(op, b, "B")
    if a[-1] != b[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise LinalgError(
            f"{op}: Incompatible shapes of A and B for the equation {equation}"
            f" ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )
    return (*broadcast(a[:-2], b[:-2]), *b[-2:])


def of_right_side(grad, A):
    return transposed(A)._solve(grad)


@declare(
    Structured,
    shape=lambda A, B: solution_shape("linalg.solve", A, B, True),
    dtype=same_dtype("linalg.solve"),
    promotes=False,
    vjp={
        "A": lambda grad, A, result: -of_right_side(grad, A).matmul(transposed(result)),
        "B": lambda grad, A: of_right_side(grad, A),
    },
    samples=lambda rng: [
        ((well_conditioned(rng, 3, 3), normal(rng, 3, 2)), {}),
        ((well_conditioned(rng, 2, 3, 3), normal(rng, 1, 3, 4)), {}),
    ],
    torch="linalg.solve",
    complex=True,
)
def _solve(A, B):
    "X with A X = B."
    for place, pivot in enumerate(zero_pivots(A).reshape(-1)):
        if pivot:
            raise LinalgError(
                f"torch.linalg.solve: {which(place, A.ndim > 2)}The solver failed because the"
                " input matrix is singular."
            )
    return np.linalg.solve(A, B)


def triangle_of(x: Any, upper: bool, unit: bool) -> Any:
    """The part of a matrix that a triangular solver reads."""
    return x.triu(int(unit)) if upper else x.tril(-int(unit))


@declare(
    Structured,
    shape=lambda A, B, upper, left, unitriangular: solution_shape(
        "linalg.solve_triangular", A, B, left
    ),
    dtype=same_dtype("linalg.solve_triangular"),
    promotes=False,
    vjp={
        "A": lambda grad, A, result, upper, left, unitriangular: of_triangle(
            grad, A, result, upper, left, unitriangular
        ),
        "B": lambda grad, A, upper, left, unitriangular: transposed(A)._solve_triangular(
            grad, not upper, left, unitriangular
        ),
    },
    samples=lambda rng: [
        ((well_conditioned(rng, 3, 3), normal(rng, 3, 2), True, True, False), {}),
        ((well_conditioned(rng, 3, 3), normal(rng, 2, 2, 3), False, False, True), {}),
    ],
    torch="-",
    complex=True,
)
def _solve_triangular(A, B, upper: bool, left: bool, unitriangular: bool):
    "X with A X = B, or X A = B, for triangular A."
    shape = broadcast(A.shape[:-2], B.shape[:-2])
    a = np.broadcast_to(A, (*shape, *A.shape[-2:]))
    b = np.broadcast_to(B, (*shape, *B.shape[-2:]))
    if not b.size:
        return np.zeros(b.shape, b.dtype)

    def one(m: np.ndarray, n: np.ndarray) -> tuple[np.ndarray]:
        solve = blas.get_blas_funcs("trsm", (m, n))
        found = solve(1, m, n, side=not left, lower=not upper, diag=unitriangular)
        return (found.astype(n.dtype),)

    return each_matrix(one, a, b)[0]


def of_triangle(grad, A, result, upper, left, unitriangular):
    side = transposed(A)._solve_triangular(grad, not upper, left, unitriangular)
    whole = side.matmul(transposed(result)) if left else transposed(result).matmul(side)
    return -triangle_of(whole, upper, unitriangular)
