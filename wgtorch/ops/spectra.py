"""Singular values and eigenvalues of dense matrices, computed on the cpu.

Gradient formulas: M. Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008); of matrices that are not square: J. Townsend,
"Differentiating the singular value decomposition" (2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import DType
from wgtorch.errors import LinalgError
from wgtorch.op import Structured, declare
from wgtorch.ops.matrices import (
    adjoint,
    diagonal_of,
    matrices,
    square,
    well_conditioned,
    wide_floats,
)

# Singular values


def svd_shapes(input: tuple[int, ...], full_matrices: bool) -> tuple[tuple[int, ...], ...]:
    *batch, rows, columns = matrices("linalg.svd", input)
    inner = min(rows, columns)
    if full_matrices:
        return (*batch, rows, rows), (*batch, inner), (*batch, columns, columns)
    return (*batch, rows, inner), (*batch, inner), (*batch, inner, columns)


def svd_dtypes(input: DType) -> tuple[DType, DType, DType]:
    kind = wide_floats("linalg.svd", "linalg_svd_cpu")(input)
    return kind, kind.to_real(), kind


def skew(x: Any) -> Any:
    return x - adjoint(x)


def of_svd(grad, results, full_matrices):
    of_u, of_s, of_vh = grad
    u, s, vh = results
    inner = s.shape[-1]
    if full_matrices:  # the columns that are chosen freely have no say
        u, vh = u._slice(-1, 0, inner), vh._slice(-2, 0, inner)
        of_u = of_u if of_u is None else of_u._slice(-1, 0, inner)
        of_vh = of_vh if of_vh is None else of_vh._slice(-2, 0, inner)
    if of_u is None and of_vh is None:
        return (u * of_s.unsqueeze(-2)).matmul(vh)
    squares = s * s
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    gaps = gaps + gaps.new_ones((inner,)).diag_embed()  # the diagonal divides zeros
    middle = of_s.to(u.dtype).diag_embed() if of_s is not None else None
    if of_u is not None:
        part = skew(adjoint(u).matmul(of_u)) / gaps * s.unsqueeze(-2)
        middle = part if middle is None else middle + part
    if of_vh is not None:
        part = s.unsqueeze(-1) * (skew(vh.matmul(adjoint(of_vh))) / gaps)
        middle = part if middle is None else middle + part
    if u.dtype.is_complex and of_u is not None:  # what turns a pair of vectors together
        turns = diagonal_of(adjoint(u).matmul(of_u)).imag / s
        middle = middle + (1j * turns).diag_embed()
    total = u.matmul(middle).matmul(vh)
    rows, columns = u.shape[-2], vh.shape[-1]
    if of_u is not None and rows > inner:
        outside = of_u / s.unsqueeze(-2)
        outside = outside - u.matmul(adjoint(u).matmul(outside))
        total = total + outside.matmul(vh)
    if of_vh is not None and columns > inner:
        outside = of_vh / s.unsqueeze(-1)
        outside = outside - outside.matmul(adjoint(vh)).matmul(vh)
        total = total + u.matmul(outside)
    return total


def finite(op: str, input: np.ndarray) -> np.ndarray:
    if not np.isfinite(input).all():
        raise LinalgError(
            f"{op}: The algorithm failed to converge because the input matrix contained"
            " non-finite values."
        )
    return input


@declare(
    Structured,
    shape=svd_shapes,
    dtype=lambda input, full_matrices: svd_dtypes(input),
    outputs=("U", "S", "Vh"),
    differentiable=(True, True, True),
    vjp={"input": of_svd},
    samples=None,
    torch="-",
    complex=True,
    holomorphic=False,
)
def _svd(input, full_matrices: bool):
    "(U, S, Vh): U and Vh orthogonal, S the singular values in descending order."
    return tuple(np.linalg.svd(finite("linalg.svd", input), full_matrices))


@declare(
    Structured,
    shape=lambda input: svd_shapes(input, False)[1],
    dtype=lambda input: svd_dtypes(input)[1],
    vjp={"input": lambda grad, input: of_values(grad, input)},
    samples=lambda rng: [
        ((well_conditioned(rng, 4, 3),), {}),
        ((well_conditioned(rng, 2, 3, 5),), {}),
    ],
    torch="linalg.svdvals",
    complex=True,
)
def _svdvals(input):
    "The singular values, in descending order."
    return np.linalg.svd(finite("linalg.svd", input), compute_uv=False)


def of_values(grad, input):
    u, _, vh = input._svd(False)
    return (u * grad.unsqueeze(-2)).matmul(vh)


# Pseudo-inverses


def of_pinv(grad, input, result):
    """-P^H G P^H + (1 - A P) G^H P P^H + P^H P G^H (1 - P A), of the differential in G. Golub and
    V. Pereyra, "The differentiation of pseudo-inverses" (1973)."""
    back, across = adjoint(grad), adjoint(result)
    first = back.matmul(result).matmul(across)
    last = across.matmul(result).matmul(back)
    first = first - input.matmul(result.matmul(first))
    last = last - last.matmul(result).matmul(input)
    return first + last - across.matmul(grad).matmul(across)


@declare(
    Structured,
    shape=lambda input, atol, rtol, hermitian: (*input[:-2], input[-1], input[-2]),
    dtype=lambda input, atol, rtol, hermitian: input,
    promotes=False,
    vjp={"input": of_pinv},
    samples=None,
    torch="-",
    complex=True,
    holomorphic=False,
)
def _pinv(input, atol, rtol, hermitian: bool):
    "The Moore-Penrose inverse; singular values up to max(atol, rtol * the largest) are zeros."
    if not input.size:
        return np.zeros((*input.shape[:-2], input.shape[-1], input.shape[-2]), input.dtype)
    if hermitian:
        values, u = np.linalg.eigh(one_triangle(input, False))
        vh = u.swapaxes(-1, -2).conj()
    else:
        u, values, vh = np.linalg.svd(finite("linalg.pinv", input), False)
    size = np.abs(values)
    bound = np.maximum(atol[..., None], rtol[..., None] * size.max(-1, keepdims=True))
    inverse = np.where(size > bound, 1 / np.where(size > bound, values, 1), 0)
    back = vh.swapaxes(-1, -2).conj() * inverse[..., None, :]
    return (back @ u.swapaxes(-1, -2).conj()).astype(input.dtype)


# Eigenvalues


def of_eigh(grad, results, upper):
    of_values_, of_vectors = grad
    values, vectors = results
    if of_vectors is None:
        return (vectors * of_values_.unsqueeze(-2)).matmul(adjoint(vectors))
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    gaps = gaps + gaps.new_ones((values.shape[-1],)).diag_embed()
    inner = adjoint(vectors).matmul(of_vectors)
    inner = (inner - diagonal_of(inner).diag_embed()) / gaps
    inner = 0.5 * (inner + adjoint(inner))
    if of_values_ is not None:
        inner = inner + of_values_.to(inner.dtype).diag_embed()
    return vectors.matmul(inner).matmul(adjoint(vectors))


def one_triangle(input: np.ndarray, upper: bool) -> np.ndarray:
    kept = np.triu(input) if upper else np.tril(input)
    strict = np.triu(input, 1) if upper else np.tril(input, -1)
    return kept + strict.swapaxes(-1, -2).conj()


@declare(
    Structured,
    shape=lambda input, upper: (square("linalg.eigh", input)[:-1], input),
    dtype=lambda input, upper: (eigh_dtype(input).to_real(), input),
    outputs=("eigenvalues", "eigenvectors"),
    differentiable=(True, True),
    vjp={"input": of_eigh},
    samples=None,
    torch="-",
    complex=True,
    holomorphic=False,
)
def _eigh(input, upper: bool):
    "(eigenvalues in ascending order, eigenvectors as columns) of symmetric matrices."
    whole = one_triangle(input, upper)
    if not np.isfinite(whole).all():
        return np.full(input.shape[:-1], np.nan, input.real.dtype), np.full_like(input, np.nan)
    return tuple(np.linalg.eigh(whole, "U" if upper else "L"))


def eigh_dtype(input: DType) -> DType:
    if input.category < 2:
        raise NotImplementedError(f"\"linalg_eigh_cpu\" not implemented for '{input.short}'")
    return wide_floats("linalg.eigh", "linalg_eigh_cpu")(input)
