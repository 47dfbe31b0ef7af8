"""Factors of low rank, found with random vectors.

N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness: probabilistic
algorithms for constructing approximate matrix decompositions" (2009), algorithms 4.4 and 5.1.
"""

from __future__ import annotations

import wgtorch
from wgtorch import Tensor
from wgtorch.dispatch.blame import blaming


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A - M (..., m, n) nearly U diag(S) V^H, q columns each; differentiable.

    `niter` steps of subspace iteration sharpen the q directions. Draws random numbers.
    """
    rows, columns = sides("svd_lowrank", A)
    A = A if M is None else A - M.expand(A.shape)
    if rows < columns:
        V, S, U = svd_lowrank(A.mH, q, niter)
        return U, S, V
    basis = directions(A, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = wgtorch.linalg.svd(basis.mH @ A, full_matrices=False)
    return basis @ U, S, Vh.mH


def sides(op: str, A: Tensor) -> tuple[int, ...]:
    if A.ndim < 2:
        raise ValueError(f"{op}(): A must be matrices, but its shape is {list(A.shape)}")
    return tuple(A.shape[-2:])


def directions(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthogonal columns that span nearly what A (m, n) maps to."""
    drawn = wgtorch.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    basis = wgtorch.linalg.qr(A @ drawn).Q
    for _ in range(niter):
        basis = wgtorch.linalg.qr(A.mH @ basis).Q
        basis = wgtorch.linalg.qr(A @ basis).Q
    return basis


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) of A (..., m, n), less the mean of its rows if `center`: V are the q principal
    directions, S ** 2 / (m - 1) the variances along them."""
    rows, columns = sides("pca_lowrank", A)
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)"
            f"={min(rows, columns)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


for _name in ("svd_lowrank", "pca_lowrank"):
    globals()[_name] = blaming(globals()[_name], __name__)
