"""`torch.linalg` and its older names: ops that stand on the factorizations and on products."""

from __future__ import annotations

from typing import Any

from wgtorch.dtype import int32, int64
from wgtorch.errors import LinalgError
from wgtorch.op import composite
from wgtorch.ops.batched import everything, holds_somewhere
from wgtorch.ops.matrices import (
    matrices,
    square,
    transposed,
    well_conditioned,
)
from wgtorch.ops.samples import normal
from wgtorch.settled import results

# Factorizations by their public names


@composite(samples=None, torch="linalg.cholesky")
def _linalg_cholesky(A, *, upper: bool = False):
    "The triangular L with L L^T = A (U with U^T U = A if `upper`), A symmetric and positive."
    lower = A._cholesky()
    return lower.mH if upper else lower


@composite(samples=None)
def cholesky(input, upper: bool = False):
    "As `linalg.cholesky`."
    return input._linalg_cholesky(upper=upper)


@composite(samples=None, torch="linalg.cholesky_ex")
def _linalg_cholesky_ex(A, *, upper: bool = False, check_errors: bool = False):
    "(L, info): `cholesky`, and the order of the first minor that is not positive."
    if check_errors:
        A._cholesky()
    lower, info = A._cholesky_ex()
    return results("linalg_cholesky_ex", ("L", "info"))(lower.mH if upper else lower, info)


@composite(
    samples=lambda rng: [((normal(rng, 3, 2), well_conditioned(rng, 3, 3)), {})],
)
def cholesky_solve(input, L, upper: bool = False):
    "X with A X = input, where A = L L^T (U^T U if `upper`)."
    lower = L.mH if upper else L
    half = lower._solve_triangular(input, False, True, False)
    return lower.mH._solve_triangular(half, True, True, False)


@composite(samples=None)
def cholesky_inverse(L, upper: bool = False):
    "The inverse of L L^T (of U^T U if `upper`)."
    square("cholesky_inverse", tuple(L.shape))
    ones = L.new_ones((L.shape[-1],)).diag_embed().expand(tuple(L.shape))
    return ones.cholesky_solve(L, upper)


@composite(
    samples=lambda rng: [
        ((well_conditioned(rng, 4, 3),), {}),
        ((well_conditioned(rng, 2, 3),), {}),
    ],
    torch="linalg.qr",
)
def _linalg_qr(A, mode: str = "reduced"):
    "(Q, R): orthogonal columns, and an upper triangle; 'reduced', 'complete', or only 'r'."
    return results("linalg_qr", ("Q", "R"))(*A._qr(mode))


@composite(samples=lambda rng: [((well_conditioned(rng, 4, 3),), {})])
def qr(input, some: bool = True):
    "(Q, R), as `linalg.qr`."
    return results("qr", ("Q", "R"))(*input._qr("reduced" if some else "complete"))


@composite(samples=None)
def svd(input, some: bool = True, compute_uv: bool = True):
    "(U, S, V), with input = U diag(S) V^T; `linalg.svd` gives V^T."
    pack = results("svd", ("U", "S", "V"))
    if not compute_uv:
        *batch, rows, columns = input.shape
        zeros = [input.new_zeros((*batch, n, n)) for n in (rows, columns)]
        return pack(zeros[0], input._svdvals(), zeros[1])
    u, s, vh = input._svd(not some)
    return pack(u, s, vh.mH)


@composite(samples=None, torch="linalg.svd")
def _linalg_svd(A, full_matrices: bool = True, *, driver: Any = None):
    "(U, S, Vh), with A = U diag(S) Vh; S in descending order."
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with"
            " cuSOLVER backend."
        )
    return results("linalg_svd", ("U", "S", "Vh"))(*A._svd(full_matrices))


def is_upper(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "U"


@composite(samples=None, torch="linalg.eigh")
def _linalg_eigh(A, UPLO: str = "L"):
    "(eigenvalues in ascending order, eigenvectors as columns) of symmetric matrices."
    return results("linalg_eigh", ("eigenvalues", "eigenvectors"))(*A._eigh(is_upper(UPLO)))


@composite(samples=None, torch="linalg.eigvalsh")
def _linalg_eigvalsh(A, UPLO: str = "L"):
    "The eigenvalues of symmetric matrices, in ascending order."
    return A._eigh(is_upper(UPLO))[0]


# LU


LU_ZERO = (
    "and using it on lu_solve would result in a division by zero. If you still want to perform the"
    " factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


def zeros_on_diagonal(packed: Any) -> Any:
    """For each matrix the first zero of U's diagonal, from 1; 0 where none is."""
    zero = packed.detach().diagonal(0, -2, -1) == 0
    if not zero.shape[-1]:
        return zero.new_zeros(tuple(zero.shape[:-1]), dtype=int32)
    return ((zero.to(int32).argmax(-1) + 1) * zero.any(-1)).to(int32)


@composite(samples=None, torch="linalg.lu_factor_ex")
def _linalg_lu_factor_ex(A, *, pivot: bool = True, check_errors: bool = False):
    "(LU, pivots, info): `lu_factor`, and the first zero on U's diagonal."
    packed, pivots = A._lu_factor(pivot)
    info = zeros_on_diagonal(packed)
    if check_errors and holds_somewhere(info > 0):
        info = everything(info)
        place = int((info.reshape((-1,)) > 0).to(int32).argmax())
        first, where = int(info.reshape((-1,))[place]), f"(Batch element {place}): "
        raise LinalgError(
            f"torch.linalg.lu_factor: {where if info.ndim else ''}U[{first},{first}] is zero"
            f" {LU_ZERO}"
        )
    return results("linalg_lu_factor_ex", ("LU", "pivots", "info"))(packed, pivots, info)


@composite(samples=None, torch="linalg.lu_factor")
def _linalg_lu_factor(A, *, pivot: bool = True):
    "(LU, pivots): L below the diagonal and U above in one matrix; rows exchanged, from 1."
    packed, pivots, _ = A._linalg_lu_factor_ex(pivot=pivot, check_errors=True)
    return results("linalg_lu_factor", ("LU", "pivots"))(packed, pivots)


def unpacked(packed: Any) -> tuple[Any, Any]:
    rows, columns = packed.shape[-2:]
    inner = min(rows, columns)
    lower = packed._slice(-1, 0, inner).tril(-1)
    return lower + lower.new_ones((inner,)).diag_embed()._pad_rows(rows), packed._slice(
        -2, 0, inner
    ).triu()


@composite(samples=None, torch="-")
def _pad_rows(input, rows: int):
    "Rows of zeros below, up to `rows`."
    return input.constant_pad_nd((0, 0, 0, rows - input.shape[-2]))


@composite(samples=lambda rng: [((well_conditioned(rng, 3, 3),), {})], torch="linalg.lu")
def _linalg_lu(A, *, pivot: bool = True):
    "(P, L, U) with A = P L U; without pivots P is empty."
    matrices("linalg.lu", tuple(A.shape))
    packed, pivots = A._lu_factor(pivot)
    lower, upper = unpacked(packed)
    order = pivots._permutation(A.shape[-2]).to(A.dtype) if pivot else A.new_zeros((0,))
    return results("linalg_lu", ("P", "L", "U"))(order, lower, upper)


@composite(samples=None)
def lu(A, pivot: bool = True, get_infos: bool = False):
    "(LU, pivots) as `linalg.lu_factor`, and with `get_infos` the info of `linalg.lu_factor_ex`."
    found = A._linalg_lu_factor_ex(pivot=pivot, check_errors=not get_infos)
    return tuple(found) if get_infos else tuple(found)[:2]


@composite(samples=None)
def lu_unpack(LU_data, LU_pivots, unpack_data: bool = True, unpack_pivots: bool = True):
    "(P, L, U) of what `linalg.lu_factor` gave; empty where not asked for."
    if unpack_pivots and LU_pivots.dtype is not int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype."
        )
    nothing = LU_data.new_zeros((0,))
    lower, upper = unpacked(LU_data) if unpack_data else (nothing, nothing)
    rows = LU_data.shape[-2]
    order = LU_pivots._permutation(rows).to(LU_data.dtype) if unpack_pivots else nothing
    return results("lu_unpack", ("P", "L", "U"))(order, lower, upper)


@composite(samples=None, torch="linalg.lu_solve")
def _linalg_lu_solve(LU, pivots, B, *, left: bool = True, adjoint: bool = False):
    "X with A X = B (X A = B unless `left`), for A as `lu_factor` left it."
    square("linalg.lu_solve", tuple(LU.shape))
    if not left:
        turned = B.mH
        return LU._linalg_lu_solve(pivots, turned, adjoint=not adjoint).mH
    order = pivots._permutation(LU.shape[-1]).to(LU.dtype)
    if adjoint:
        half = LU.mH._solve_triangular(B, False, True, False)
        return order.matmul(LU.mH._solve_triangular(half, True, True, True))
    half = LU._solve_triangular(transposed(order).matmul(B), False, True, True)
    return LU._solve_triangular(half, True, True, False)


@composite(samples=None)
def lu_solve(b, LU_data, LU_pivots):
    "X with A X = b, for A as `linalg.lu_factor` left it."
    return LU_data._linalg_lu_solve(LU_pivots, b)


# Equations


def is_vector(A: Any, B: Any) -> bool:
    """PyTorch's rule: B is a vector, or a batch of vectors of the batch of A."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))


@composite(
    samples=lambda rng: [
        ((well_conditioned(rng, 3, 3), normal(rng, 3)), {}),
        ((well_conditioned(rng, 3, 3), normal(rng, 2, 3)), {"left": False}),
    ],
    torch="linalg.solve",
)
def _linalg_solve(A, B, *, left: bool = True):
    "X with A X = B (X A = B unless `left`); B may be a vector."
    square("linalg.solve", tuple(A.shape))
    if is_vector(A, B):
        return A._solve(B.unsqueeze(-1)).squeeze(-1)
    return A._solve(B) if left else transposed(transposed(A)._solve(transposed(B)))


@composite(samples=None, torch="linalg.solve_ex")
def _linalg_solve_ex(A, B, *, left: bool = True, check_errors: bool = False):
    "(result, info): `solve`, and which diagonal element of U was zero."
    inverse, info = A._inv_ex()
    if check_errors or not holds_somewhere(info > 0):
        result = A._linalg_solve(B, left=left)
    else:
        column = B.unsqueeze(-1) if is_vector(A, B) else B
        result = inverse.matmul(column) if left else column.matmul(inverse)
        result = result.squeeze(-1) if is_vector(A, B) else result
    return results("linalg_solve_ex", ("result", "info"))(result, info)


@composite(
    samples=lambda rng: [((well_conditioned(rng, 3, 3), normal(rng, 3, 2)), {"upper": True})],
    torch="linalg.solve_triangular",
)
def _linalg_solve_triangular(A, B, *, upper: bool, left: bool = True,
                             unitriangular: bool = False):  # fmt: skip
    "X with A X = B (X A = B unless `left`) for triangular A."
    return A._solve_triangular(B, upper, left, unitriangular)


@composite(samples=None)
def triangular_solve(b, A, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False):  # fmt: skip
    "(X with A X = b for triangular A, A)."
    matrix = transposed(A) if transpose else A
    solution = matrix._solve_triangular(b, upper != transpose, True, unitriangular)
    pack = results("triangular_solve", ("solution", "cloned_coefficient"))
    return pack(solution, A.clone())


@composite(samples=lambda rng: [((well_conditioned(rng, 2, 3, 3),), {})], torch="linalg.inv")
def _linalg_inv(A):
    "The inverses of square matrices."
    return A._inv()


@composite(samples=lambda rng: [((well_conditioned(rng, 3, 3),), {})])
def inverse(input):
    "The inverses of square matrices."
    return input._inv()


@composite(samples=None, torch="linalg.inv_ex")
def _linalg_inv_ex(A, *, check_errors: bool = False):
    "(inverse, info): `inv`, and which diagonal element of U was zero."
    if check_errors:
        A._inv()
    return results("linalg_inv_ex", ("inverse", "info"))(*A._inv_ex())


@composite(samples=lambda rng: [((well_conditioned(rng, 3, 3),), {})])
def det(input):
    "The determinants of square matrices."
    return input._det()


@composite(samples=None)
def slogdet(input):
    "(sign, logabsdet) of the determinants."
    return results("slogdet", ("sign", "logabsdet"))(*input._linalg_slogdet())


@composite(samples=None)
def logdet(input):
    "The logarithms of the determinants; NaN where one is negative."
    if input.dtype.is_complex:
        return input._det().log()
    sign, size = input._linalg_slogdet()
    return size.masked_fill(sign < 0, float("nan"))


@composite(samples=lambda rng: [((well_conditioned(rng, 4, 3),), {})])
def pinverse(input, rcond: float = 1e-15):
    "The Moore-Penrose inverse."
    return input._linalg_pinv(rcond)


@composite(samples=None, torch="linalg.lstsq")
def _linalg_lstsq(A, B, rcond: Any = None, *, driver: str = "gelsy"):
    """(solution, residuals, rank, singular_values) of the least |A X - B|.

    `driver` names LAPACK's routine, and what is returned beside the solution, as in PyTorch.
    """
    matrices("torch.linalg.lstsq", tuple(A.shape), "input")
    vector = is_vector(A, B)
    B = B.unsqueeze(-1) if vector else B
    if driver not in ("gelsy", "gels", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    if B.ndim < 2 or B.shape[-2] != A.shape[-2]:
        last = -1 if vector else -2
        raise LinalgError(f"torch.linalg.lstsq: input.size(-2) should match other.size({last})")
    solution = A._linalg_pinv(rcond).matmul(B)
    nothing = A.new_zeros((0,), dtype=A.dtype.to_real())
    rank = A._linalg_matrix_rank(rtol=rcond)
    full = not holds_somewhere(rank != min(A.shape[-2:]))
    residuals = nothing
    if A.shape[-2] > A.shape[-1] and driver != "gelsy" and (full or driver == "gels"):
        residuals = (A.matmul(solution) - B).abs().square().sum(-2)
    values = A.detach()._svdvals() if driver in ("gelsd", "gelss") else nothing
    rank = rank.new_zeros((0,), dtype=int64) if driver == "gels" else rank
    pack = results("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))
    return pack(solution.squeeze(-1) if vector else solution, residuals, rank, values)
