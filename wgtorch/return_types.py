"""Named tuples that ops with several results return: `return_types.max` has `values`, `indices`."""

from __future__ import annotations

from typing import Any

from wgtorch.op import REGISTRY
from wgtorch.settled import results

BOTH = ("values", "indices")
COMPOSED: dict[str, tuple[str, ...]] = {  # of ops that are formulas of others
    "kthvalue": BOTH, "max": BOTH, "median": BOTH, "min": BOTH, "mode": BOTH, "nanmedian": BOTH,
    "sort": BOTH, "topk": BOTH, "aminmax": ("min", "max"), "frexp": ("mantissa", "exponent"),
    "histogram": ("hist", "bin_edges"), "linalg_cholesky_ex": ("L", "info"),
    "geqrf": ("a", "tau"), "histogramdd": ("hist", "bin_edges"),
    "linalg_eig": ("eigenvalues", "eigenvectors"), "linalg_ldl_factor": ("LD", "pivots"),
    "linalg_ldl_factor_ex": ("LD", "pivots", "info"),
    "linalg_eigh": ("eigenvalues", "eigenvectors"), "linalg_inv_ex": ("inverse", "info"),
    "linalg_lstsq": ("solution", "residuals", "rank", "singular_values"),
    "linalg_lu": ("P", "L", "U"), "linalg_lu_factor": ("LU", "pivots"),
    "linalg_lu_factor_ex": ("LU", "pivots", "info"), "linalg_qr": ("Q", "R"),
    "linalg_slogdet": ("sign", "logabsdet"), "linalg_solve_ex": ("result", "info"),
    "linalg_svd": ("U", "S", "Vh"), "lu_unpack": ("P", "L", "U"), "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"), "svd": ("U", "S", "V"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    names = COMPOSED.get(name)
    if names is None:
        ops = (REGISTRY.get(n) for n in (name, f"_{name}", f"_{name}_dim"))
        names = next((op.outputs for op in ops if getattr(op, "outputs", ())), None)  # type: ignore[union-attr]
    if names is None or names[0].startswith("_"):
        raise AttributeError(f"module 'wgtorch.return_types' has no attribute {name!r}")
    return results(name, names)
