"""Eigenvalues of general matrices and factors of indefinite ones, computed on the cpu.

Gradient of eigenvectors: C. Boeddeker et al., "On the computation of complex-valued gradients with
application to statistically optimum beamforming" (2017), which keeps their lengths at 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import DType, int32
from wgtorch.layout import wrap_real_dim
from wgtorch.op import Other, Structured, composite, declare
from wgtorch.ops.batched import holds_somewhere
from wgtorch.ops.factorization import lapack
from wgtorch.ops.matrices import (
    adjoint,
    check_reflections,
    diagonal_of,
    each_matrix,
    square,
    symmetric,
    wide_floats,
)
from wgtorch.ops.samples import normal
from wgtorch.settled import results

# Eigenvalues


def complex_of(input: DType) -> DType:
    return wide_floats("linalg.eig", "linalg_eig_cpu")(input).to_complex()


def of_eig(grad, results, input_dtype):
    """V^-H (diag(of_values) + (V^H of_vectors - V^H V diag(Re V^H of_vectors)) / gaps^*) V^H"""
    of_values, of_vectors = grad
    values, vectors = results
    inner = None
    if of_vectors is not None:
        along = adjoint(vectors).matmul(of_vectors)
        lengths = diagonal_of(along).real.to(vectors.dtype)
        along = along - adjoint(vectors).matmul(vectors * lengths.unsqueeze(-2))
        gaps = (values.unsqueeze(-2) - values.unsqueeze(-1)).conj()
        gaps = gaps + gaps.new_ones((values.shape[-1],)).diag_embed()
        inner = along / gaps
        inner = inner - diagonal_of(inner).diag_embed()
    if of_values is not None:
        middle = of_values.diag_embed()
        inner = middle if inner is None else inner + middle
    whole = adjoint(vectors)._solve(inner.matmul(adjoint(vectors)))
    return whole if input_dtype.is_complex else whole.real


@declare(
    Structured,
    shape=lambda input: (square("linalg.eig", input)[:-1], input),
    dtype=lambda input: (complex_of(input),) * 2,
    outputs=("eigenvalues", "eigenvectors"),
    differentiable=(True, True),
    vjp={"input": of_eig},
    samples=None,
    torch="-",
    complex=True,
    holomorphic=False,
)
def _eig(input):
    "(eigenvalues in no order, eigenvectors of length 1 as columns) of square matrices."
    if not np.isfinite(input).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    kind = np.result_type(input.dtype, np.complex64)
    return tuple(part.astype(kind) for part in np.linalg.eig(input))


@composite(samples=None, torch="linalg.eig")
def _linalg_eig(A):
    "(eigenvalues, eigenvectors as columns) of square matrices, both complex."
    return results("linalg_eig", ("eigenvalues", "eigenvectors"))(*A._eig())


@composite(samples=None, torch="linalg.eigvals")
def _linalg_eigvals(A):
    "The eigenvalues of square matrices, complex, in no order."
    return A._eig()[0]


# L D L^T


def sides(a: np.ndarray, hermitian: bool) -> str:
    return "hetrf" if hermitian and np.iscomplexobj(a) else "sytrf"


@declare(
    Structured,
    shape=lambda input, hermitian: (
        square("torch.linalg.ldl_factor_ex", input),
        input[:-1],
        input[:-2],
    ),
    dtype=lambda input, hermitian: (wide_floats("torch.linalg.ldl_factor_ex")(input), int32, int32),
    outputs=("LD", "pivots", "info"),
    samples=lambda rng: [
        ((symmetric(rng, 4, 4), False), {}),
        ((symmetric(rng, 2, 3, 3), True), {}),
    ],
    torch="-",
    complex=True,
)
def _ldl_factor(input, hermitian: bool):
    "(LD, pivots, info): the factors in the lower triangle, LAPACK's pivots, its first zero pivot."

    def one(a: np.ndarray) -> tuple[Any, ...]:
        packed, pivots, info = lapack.get_lapack_funcs(sides(a, hermitian), (a,))(a, lower=True)
        return np.tril(packed).astype(a.dtype), pivots.astype(np.int32), np.int32(info)

    if not input.size:
        return input.copy(), np.zeros(input.shape[:-1], "i"), np.zeros(input.shape[:-2], "i")
    return tuple(each_matrix(one, input))


def of_ldl_side(grad, LD, pivots, hermitian):
    if hermitian or not LD.dtype.is_complex:
        return LD._ldl_solve(pivots, grad, hermitian)
    return LD._ldl_solve(pivots, grad.conj(), False).conj()


def exchange(x: np.ndarray, k: int, other: int) -> None:
    x[[k, other]] = x[[other, k]]


def solved(packed: np.ndarray, pivots: np.ndarray, x: np.ndarray, hermitian: bool) -> np.ndarray:
    """P L D (P L)^T x = b, in steps of one pivot or two: Golub and Van Loan, 4.4."""
    x, turned = x.copy(), np.conj if hermitian else np.asarray
    steps, k = [], 0
    while k < len(pivots):
        width = 1 if pivots[k] > 0 else 2
        steps.append((k, k + width, abs(int(pivots[k])) - 1))
        k += width
    for k, end, other in steps:
        exchange(x, end - 1, other)
        x[end:] -= packed[end:, k:end] @ x[k:end]
        block = np.tril(packed[k:end, k:end])
        block = block + turned(np.tril(block, -1)).T
        x[k:end] = np.linalg.solve(block, x[k:end])
    for k, end, other in reversed(steps):
        x[k:end] -= turned(packed[end:, k:end]).T @ x[end:]
        exchange(x, end - 1, other)
    return x


def ldl_shape(LD: tuple[int, ...], pivots: tuple[int, ...], B: tuple[int, ...], hermitian: bool):
    square("torch.linalg.ldl_solve", LD)
    if len(B) < 2 or B[-2] != LD[-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected B.shape[-2] to be equal to LD.shape[-2], but got"
            f" {list(B)} and {list(LD)}"
        )
    return (*np.broadcast_shapes(LD[:-2], B[:-2]), *B[-2:])


@declare(
    Structured,
    shape=ldl_shape,
    dtype=lambda LD, pivots, B, hermitian: wide_floats("torch.linalg.ldl_solve")(B),
    vjp={"B": of_ldl_side},
    samples=None,
    promotes=False,
    torch="-",
    complex=True,
    holomorphic=False,
)
def _ldl_solve(LD, pivots: Other, B, hermitian: bool):
    "X with A X = B, of the factors of A."
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    packed = np.broadcast_to(LD, (*batch, *LD.shape[-2:]))
    order = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    sides = np.broadcast_to(B, (*batch, *B.shape[-2:]))
    out = np.empty(sides.shape, B.dtype)
    for place in np.ndindex(batch):
        out[place] = solved(packed[place], order[place], sides[place], hermitian)
    return out


@composite(samples=None, torch="linalg.ldl_factor_ex")
def _linalg_ldl_factor_ex(A, *, hermitian: bool = False, check_errors: bool = False):
    "(LD, pivots, info) of symmetric (or Hermitian) matrices: info is the first zero pivot, or 0."
    packed, pivots, info = A._ldl_factor(hermitian)
    if check_errors and holds_somewhere(info != 0):
        raise RuntimeError(
            "torch.linalg.ldl_factor_ex: the factor D is exactly singular, and linalg.ldl_solve"
            " would divide by zero"
        )
    return results("linalg_ldl_factor_ex", ("LD", "pivots", "info"))(packed, pivots, info)


@composite(samples=None, torch="linalg.ldl_factor")
def _linalg_ldl_factor(A, *, hermitian: bool = False):
    "(LD, pivots) of symmetric (or Hermitian) matrices, whose lower triangles are read."
    packed, pivots, _ = A._linalg_ldl_factor_ex(hermitian=hermitian, check_errors=True)
    return results("linalg_ldl_factor", ("LD", "pivots"))(packed, pivots)


@composite(samples=None, torch="linalg.ldl_solve")
def _linalg_ldl_solve(LD, pivots, B, *, hermitian: bool = False):
    "X with A X = B, of what `linalg.ldl_factor` made of A."
    return LD._ldl_solve(pivots, B, hermitian)


# Q of reflections


@declare(
    Structured,
    shape=lambda input: (input, (*input[:-2], min(input[-2:]))),
    dtype=lambda input: (wide_floats("torch.geqrf", "geqrf_cpu")(input),) * 2,
    outputs=("a", "tau"),
    samples=lambda rng: [((normal(rng, 4, 3),), {}), ((normal(rng, 2, 3, 5),), {})],
    torch="-",
    complex=True,
)
def _geqrf(input):
    "(a, tau): R in the upper triangle, and below it the reflections whose product is Q."

    def one(a: np.ndarray) -> tuple[Any, ...]:
        packed, tau, _, _ = lapack.get_lapack_funcs("geqrf", (a,))(a)
        return packed.astype(a.dtype), tau.astype(a.dtype)

    if not input.size:
        return input.copy(), np.zeros((*input.shape[:-2], min(input.shape[-2:])), input.dtype)
    return tuple(each_matrix(one, input))


@composite(samples=None)
def geqrf(input):
    "(a, tau): the QR decomposition as LAPACK keeps it; see `linalg.householder_product`, `ormqr`."
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    return results("geqrf", ("a", "tau"))(*input._geqrf())


@composite(
    samples=lambda rng: [
        ((normal(rng, 4, 3), normal(rng, 3), normal(rng, 4, 2)), {}),
        ((normal(rng, 4, 3), normal(rng, 3), normal(rng, 2, 4), False, True), {}),
    ]
)
def ormqr(input, tau, other, left: bool = True, transpose: bool = False):
    "Q @ other, or other @ Q where not `left`, of the reflections of `geqrf`; `transpose`: of Q^H."
    for name, matrix in (("input", input), ("other", other)):
        if matrix.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    rows, count = input.shape[-2], tau.shape[wrap_real_dim(-1, tau.ndim)]
    size = other.shape[-2 if left else -1]
    if size != rows:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2]"
        )
    if count != min(size, input.shape[-1]):
        side = -2 if left else -1
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        )
    check_reflected(input, tau, other)
    unit = input.new_ones((rows,)).diag_embed()._slice(-1, 0, count)
    vectors = input._slice(-1, 0, count).tril(-1) + unit
    tau = tau.conj() if transpose else tau
    result = other if left else adjoint(other)
    tau = tau if left else tau.conj()
    order = range(count) if left == transpose else range(count - 1, -1, -1)
    for k in order:
        v, scale = vectors._slice(-1, k, k + 1), tau._slice(-1, k, k + 1).unsqueeze(-1)
        result = result - scale * v.matmul(adjoint(v).matmul(result))
    return result if left else adjoint(result)


def check_reflected(input, tau, other) -> None:
    """That the three fit each other, in what `ormqr` does not ask of sizes."""
    check_reflections("torch.ormqr", "ormqr_cpu", input, tau)
    if other.ndim != input.ndim:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got"
            f" other.ndim equal to {other.ndim} and input.ndim is equal to {input.ndim}"
        )
    if other.shape[:-2] != input.shape[:-2]:
        raise RuntimeError(
            "torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but"
            f" got {list(other.shape[:-2])}"
        )
    for name, given in (("tau", tau), ("other", other)):
        if given.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has"
                f" dtype{input.dtype.short} and {name} has dtype {given.dtype.short}"
            )
