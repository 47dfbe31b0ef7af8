"""Linear algebra under PyTorch's names. Its ops stand in wgtorch/ops: here they are only gathered.

Dense factorizations of a GPU's tensors are computed on the cpu, which is said once and counted.
"""

from __future__ import annotations

from wgtorch.absent import answer_for
from wgtorch.dispatch.doors import PUBLIC
from wgtorch.errors import LinAlgError

_OWN = (
    "cholesky", "cholesky_ex", "cond", "cross", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq",
    "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matrix_norm", "matrix_rank", "multi_dot",
    "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm",
)  # fmt: skip
_SHARED = {"det": "det", "matmul": "matmul", "matrix_exp": "matrix_exp",
           "matrix_power": "matrix_power", "svdvals": "_svdvals"}  # fmt: skip

__all__ = sorted([*_OWN, *_SHARED, "LinAlgError", "diagonal"])


def diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1):
    """The diagonals of matrices, as a view: of the last two dimensions by default."""
    return A.diagonal(offset, dim1, dim2)


globals().update({name: PUBLIC["_linalg_" + name] for name in _OWN})
globals().update({name: PUBLIC[op] for name, op in _SHARED.items()})

answer_for(__name__)
