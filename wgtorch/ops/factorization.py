"""Factorizations of dense matrices, (..., n, m), computed on the cpu: a GPU's go there and back.

Gradient formulas: M. Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008); of wide QR: S. Walter and L. Lehmann, "Algorithmic
differentiation of linear algebra functions" (2010).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import DType, int32
from wgtorch.errors import LinalgError
from wgtorch.lazy import Lazy
from wgtorch.op import Structured, declare
from wgtorch.ops.matrices import (
    adjoint,
    diagonal_of,
    each_matrix,
    matrices,
    square,
    transposed,
    well_conditioned,
    which,
    wide_floats,
)

lapack = Lazy("scipy.linalg")

# Cholesky


def lower_half(x):
    """The lower triangle, of the diagonal half."""
    return x.tril() - 0.5 * diagonal_of(x).diag_embed()


def of_cholesky(grad, result):
    """L^-H (S + S^H) / 2 L^-1 with S = lower_half(L^H grad)."""
    inner = lower_half(adjoint(result).matmul(grad.tril()))
    inner = inner + adjoint(inner)
    left = adjoint(result)._solve_triangular(inner, True, True, False)
    both = adjoint(result)._solve_triangular(adjoint(left), True, True, False)
    return 0.5 * adjoint(both)


def hermitian(input: np.ndarray) -> np.ndarray:
    """The matrices whose lower triangles these are."""
    return np.tril(input) + np.tril(input, -1).swapaxes(-1, -2).conj()


def factored(input: np.ndarray, checks: bool) -> tuple[np.ndarray, np.ndarray]:
    """(the lower factors, for each the order of the minor that is not positive)."""

    def one(a: np.ndarray) -> tuple[Any, Any]:
        if not a.size:
            return a.copy(), np.int32(0)
        low, info = lapack.get_lapack_funcs("potrf", (a,))(a, lower=True, clean=True)
        if not info and np.isnan(low).any():
            info = 1
        return low.astype(a.dtype), np.int32(info)

    if not input.size:
        return input.copy(), np.zeros(input.shape[:-2], np.int32)
    low, info = each_matrix(one, input)
    for place, minor in enumerate(info.reshape(-1)) if checks else ():
        if minor:
            raise LinalgError(
                f"linalg.cholesky: {which(place, input.ndim > 2)}The factorization could not be"
                " completed because the input is not positive-definite (the leading minor of order"
                f" {minor} is not positive-definite)."
            )
    return low, info


@declare(
    Structured,
    shape=lambda input: square("linalg.cholesky", input),
    dtype=wide_floats("linalg.cholesky", "cholesky_cpu"),
    vjp={"input": of_cholesky},
    samples=None,
    torch="-",
    complex=True,
    holomorphic=False,
)
def _cholesky(input):
    "The lower triangular L with L L^T = input, which is symmetric and positive definite."
    return factored(hermitian(input), True)[0]


@declare(
    Structured,
    shape=lambda input: (square("linalg.cholesky_ex", input), input[:-2]),
    dtype=lambda input: (wide_floats("linalg.cholesky", "cholesky_cpu")(input), int32),
    outputs=("L", "info"),
    vjp={"input": lambda grad, results: of_cholesky(grad, results[0])},
    samples=None,
    torch="-",
    complex=True,
    holomorphic=False,
)
def _cholesky_ex(input):
    "(L, info): `cholesky`, and where it stopped: the order of the minor that is not positive."
    return factored(hermitian(input), False)


# QR


def qr_shapes(input: tuple[int, ...], mode: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    matrices("linalg.qr", input)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r',"
            " or 'complete'"
        )
    *batch, rows, columns = input
    inner = rows if mode == "complete" else min(rows, columns)
    q = (0,) if mode == "r" else (*batch, rows, inner)
    return q, (*batch, inner, columns)


def of_qr(grad, results, mode):
    of_q, of_r = grad
    q, r = results
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please"
            " use linalg.qr(A, mode='reduced') if you are going to require gradients"
        )
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    of_q = q.new_zeros(tuple(q.shape)) if of_q is None else of_q
    of_r = r.new_zeros(tuple(r.shape)) if of_r is None else of_r
    if rows >= columns:
        return of_tall_qr(of_q, of_r, q, r)
    left, right = r._slice(-1, 0, rows), r._slice(-1, rows, columns)
    of_left, of_right = of_r._slice(-1, 0, rows), of_r._slice(-1, rows, columns)
    of_q = of_q + q.matmul(right).matmul(adjoint(of_right))
    first = of_tall_qr(of_q, of_left, q, left)
    return first._cat((first, q.matmul(of_right)), first.ndim - 1)


def of_tall_qr(of_q, of_r, q, r):
    """(of_q + Q S) R^-H, S the Hermitian matrix with the lower triangle of R of_r^H - of_q^H Q."""
    of_r = of_r.triu()
    inner = r.matmul(adjoint(of_r)) - adjoint(of_q).matmul(q)
    middle = diagonal_of(inner)
    middle = middle.real.to(inner.dtype) if inner.dtype.is_complex else middle
    inner = inner.tril(-1) + adjoint(inner.tril(-1)) + middle.diag_embed()
    return adjoint(r._solve_triangular(adjoint(of_q + q.matmul(inner)), True, True, False))


@declare(
    Structured,
    shape=qr_shapes,
    dtype=lambda input, mode: (wide_floats("linalg.qr", "geqrf_cpu")(input),) * 2,
    outputs=("Q", "R"),
    differentiable=(True, True),
    vjp={"input": of_qr},
    samples=lambda rng: [
        ((well_conditioned(rng, 5, 3), "reduced"), {}),
        ((well_conditioned(rng, 2, 3, 5), "reduced"), {}),
        ((well_conditioned(rng, 3, 3), "complete"), {}),
    ],
    torch="-",
    complex=True,
    holomorphic=False,
)
def _qr(input, mode: str):
    "(Q, R): Q has orthogonal columns, R is upper triangular, and Q R is the input."
    if mode == "r":
        return np.empty(0, input.dtype), np.linalg.qr(input, "r")
    return np.linalg.qr(input, mode)


# LU


def of_lu(grad, results, pivot):
    """P L^-T (strictly lower part of L^T of_l + upper part of of_u U^T) U^-T of the square part;
    what a wide or tall matrix has beside it is L^-1 P^T A2, or P^T A2 U^-1."""
    packed, pivots = results
    rows, columns = packed.shape[-2:]
    inner = min(rows, columns)
    square_ = packed._slice(-2, 0, inner)._slice(-1, 0, inner)
    of_square = grad._slice(-2, 0, inner)._slice(-1, 0, inner)
    lower = square_.tril(-1) + packed.new_ones((inner,)).diag_embed()
    upper = square_.triu()
    below = transposed(lower).matmul(of_square.tril(-1))
    above = of_square.triu().matmul(transposed(upper))
    if columns > rows:
        of_right, right = grad._slice(-1, inner, columns), packed._slice(-1, inner, columns)
        below = below - of_right.matmul(transposed(right))
    elif rows > columns:
        of_under, under = grad._slice(-2, inner, rows), packed._slice(-2, inner, rows)
        above = above - transposed(under).matmul(of_under)
    total = below.tril(-1) + above.triu()
    total = transposed(lower)._solve_triangular(total, True, True, True)
    total = divided(total, upper)
    if columns > rows:
        beside = transposed(lower)._solve_triangular(of_right, True, True, True)
        total = total._cat((total, beside), total.ndim - 1)
    elif rows > columns:
        total = total._cat((total, divided(of_under, upper)), total.ndim - 2)
    return pivots._permutation(rows).to(packed.dtype).matmul(total) if pivot else total


def divided(x, upper):
    """x U^-T."""
    return transposed(upper._solve_triangular(transposed(x), True, True, False))


def lu_shapes(input: tuple[int, ...], pivot: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if len(input) < 2:
        raise LinalgError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(input)}"
            " instead"
        )
    return input, (*input[:-2], min(input[-2:]))


def unpivoted(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, size = a.copy(), min(a.shape)
    for k in range(size):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, np.arange(1, size + 1, dtype=np.int32)


def pivoted(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    packed, pivots, _ = lapack.get_lapack_funcs("getrf", (a,))(a)
    return packed.astype(a.dtype), pivots.astype(np.int32) + 1


@declare(
    Structured,
    shape=lu_shapes,
    dtype=lambda input, pivot: (lu_dtype(input), int32),
    outputs=("LU", "pivots"),
    vjp={"input": of_lu},
    samples=lambda rng: [
        ((well_conditioned(rng, 4, 4), True), {}),
        ((well_conditioned(rng, 2, 3, 3), False), {}),
    ],
    torch="-",
    complex=True,
)
def _lu_factor(input, pivot: bool):
    "(LU, pivots): both factors in one matrix, and the rows that were exchanged, from 1."
    if not input.size:
        return input.copy(), np.zeros((*input.shape[:-2], min(input.shape[-2:])), np.int32)
    return tuple(each_matrix(pivoted if pivot else unpivoted, input))


def lu_dtype(input: DType) -> DType:
    if input.category < 2 or input.itemsize < 4:
        raise NotImplementedError(f"\"lu_cpu\" not implemented for '{input.short}'")
    return input


@declare(
    Structured,
    shape=lambda input, rows: (*input[:-1], rows, rows),
    dtype=lambda input, rows: input,
    samples=None,
    torch="-",
)
def _permutation(input, rows: int):
    "The matrix P with P L U = A, of the pivots of an LU factorization."

    def one(pivots: np.ndarray) -> np.ndarray:
        order = np.arange(rows)
        for k, other in enumerate(pivots - 1):
            order[[k, other]] = order[[other, k]]
        return np.eye(rows, dtype=input.dtype)[order].T

    flat = [one(pivots) for pivots in input.reshape(-1, input.shape[-1])] if input.size else []
    return (
        np.stack(flat).reshape(*input.shape[:-1], rows, rows)
        if flat
        else np.broadcast_to(np.eye(rows, dtype=input.dtype), (*input.shape[:-1], rows, rows))
    )
