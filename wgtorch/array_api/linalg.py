"""Linear algebra, by the array API standard: its functions of the core, and its extension."""

from __future__ import annotations

from typing import Any, NamedTuple

import wgtorch
from wgtorch import Tensor
from wgtorch.array_api.folds import sum as summed

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul",
           "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr",
           "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot",
           "vector_norm"]  # fmt: skip


class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


def alike(x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
    dtype = wgtorch.promote_types(x1.dtype, x2.dtype)
    return x1.to(dtype), x2.to(dtype)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The product of matrices, or of vectors with them."""
    return wgtorch.matmul(*alike(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """With the last two axes exchanged."""
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """The product summed over so many last axes of x1 and first of x2, or over the axes listed."""
    return wgtorch.tensordot(*alike(x1, x2), axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The inner products along an axis; of complex vectors the first is conjugated."""
    return wgtorch.linalg.vecdot(*alike(x1, x2), dim=axis)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """L with L L^H = x, or U with U^H U = x."""
    return wgtorch.linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The products of vectors of length 3 that are perpendicular to both."""
    return wgtorch.linalg.cross(*alike(x1, x2), dim=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinants."""
    return wgtorch.linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of the last two axes."""
    return wgtorch.linalg.diagonal(x, offset=offset)


def eigh(x: Tensor, /) -> EighResult:
    """(eigenvalues in ascending order, eigenvectors as columns) of Hermitian matrices."""
    return EighResult(*wgtorch.linalg.eigh(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of Hermitian matrices, in ascending order."""
    return wgtorch.linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverses."""
    return wgtorch.linalg.inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norms of matrices."""
    return wgtorch.linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """x times itself, n times."""
    return wgtorch.linalg.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are above rtol times the largest."""
    return wgtorch.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of the elements of two vectors."""
    return wgtorch.outer(*alike(x1, x2))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverses; singular values below rtol times the largest count as zero."""
    return wgtorch.linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """(Q, R): orthogonal columns, and an upper triangle."""
    return QRResult(*wgtorch.linalg.qr(x, mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """(sign, logarithm of the absolute value) of the determinants."""
    return SlogdetResult(*wgtorch.linalg.slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """X with x1 X = x2; a vector is what has one axis."""
    first, second = alike(x1, x2)
    if second.ndim == 1:
        return wgtorch.linalg.solve(first, second.unsqueeze(-1)).squeeze(-1)
    return wgtorch.linalg.solve(first, second)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """(U, S, Vh) with x = U diag(S) Vh."""
    return SVDResult(*wgtorch.linalg.svd(x, full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values, in descending order."""
    return wgtorch.linalg.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals."""
    return summed(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norms of vectors along axes; None: of all elements."""
    return wgtorch.linalg.vector_norm(x, ord, axis, keepdims)
