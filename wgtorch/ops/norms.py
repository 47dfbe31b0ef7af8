"""Norms of vectors and matrices, and what is measured with them: `torch.linalg`'s."""

from __future__ import annotations

from math import inf
from typing import Any

from wgtorch.dtype import float32, float64, int64
from wgtorch.errors import LinalgError
from wgtorch.layout import wrap_dim
from wgtorch.op import composite
from wgtorch.ops.matrices import matrices, square, well_conditioned
from wgtorch.ops.samples import normal
from wgtorch.storage import View

EPSILON = {float32: 2.0**-23, float64: 2.0**-52}


def floats(op: str, x: Any) -> Any:
    if not x.is_floating_point() and not x.is_complex():
        raise RuntimeError(
            f"{op}: Expected a floating point or complex tensor as input. Got {x.dtype.short}"
        )
    return x


def as_dims(dim: Any) -> tuple[int, ...] | None:
    return None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)


# Norms


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 5),), {}),
        ((normal(rng, 3, 5), 3), {"dim": 1}),
        ((normal(rng, 3, 5), inf), {"dim": (0, 1), "keepdim": True}),
    ],
    torch="linalg.vector_norm",
)
def _linalg_vector_norm(x, ord: float = 2, dim: Any = None, keepdim: bool = False, *,
                        dtype: object = None):  # fmt: skip
    "(sum of |x|^ord)^(1/ord) over dim, of all elements by default; inf, -inf and 0 as limits."
    floats("linalg.vector_norm", x)
    dims = as_dims(dim)
    sizes = [x.shape[wrap_dim(d, x.ndim)] if x.ndim else 1 for d in dims or range(x.ndim)]
    if 0 in sizes and (ord < 0 or ord == inf):
        raise LinalgError(
            f"linalg.vector_norm cannot compute the {'inf' if ord == inf else ord} norm on an empty"
            " tensor because the operation does not have an identity"
        )
    return x.norm(ord, dims, keepdim, dtype=dtype)


def order_of(ord: Any) -> Any:
    if ord in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
        return ord
    raise LinalgError(f"linalg.matrix_norm: Order {ord} not supported.")


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 5),), {}),
        ((normal(rng, 2, 3, 4), 1), {}),
        ((normal(rng, 3, 2, 4), -inf), {"dim": (0, 2), "keepdim": True}),
        ((well_conditioned(rng, 4, 3), 2), {}),
        ((well_conditioned(rng, 4, 3), "nuc"), {}),
    ],
    torch="linalg.matrix_norm",
)
def _linalg_matrix_norm(A, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *,
                        dtype: object = None):  # fmt: skip
    """The norm of matrices: 'fro', 'nuc' (sum of singular values), 2 and -2 (the largest and
    smallest of them), 1 and -1 (of column sums), inf and -inf (of row sums)."""
    matrices("linalg.matrix_norm", tuple(A.shape))
    floats("linalg.matrix_norm", A)
    order_of(ord)
    if isinstance(dim, int) or len(dim) != 2:
        raise LinalgError(
            "linalg.matrix_norm: dim must be a 2-tuple. Got"
            f" {dim if isinstance(dim, int) else ' '.join(map(str, dim))}"
        )
    rows, columns = (wrap_dim(d, A.ndim) for d in dim)
    if rows == columns:
        raise LinalgError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    A = A if dtype is None else A.to(dtype)
    if ord == "fro":
        return A.norm(2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        values = A.movedim((rows, columns), (-2, -1))._svdvals()
        result = values.sum(-1) if ord == "nuc" else (values.amax, values.amin)[ord < 0](-1)
        for d in sorted((rows, columns)) if keepdim else ():
            result = result.unsqueeze(d)
        return result
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = A.abs().sum(summed, True)
    result = (sums.amax if ord > 0 else sums.amin)(chosen, True)
    return result if keepdim else result.squeeze((rows, columns))


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 5),), {}),
        ((normal(rng, 3, 5), 1), {}),
        ((normal(rng, 3, 5), 2, 1), {}),
    ],
    torch="linalg.norm",
)
def _linalg_norm(A, ord: Any = None, dim: Any = None, keepdim: bool = False, *,
                 dtype: object = None):  # fmt: skip
    "The norm of a vector (one dim), a matrix (two), or of all elements (no ord and no dim)."
    dims = as_dims(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise LinalgError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"
        )
    if ord is None:
        return A._linalg_vector_norm(2, dims, keepdim, dtype=dtype)
    if dims is None and A.ndim not in (1, 2):
        raise LinalgError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got"
            f" {A.ndim}D."
        )
    if len(dims) == 1 if dims else A.ndim == 1:
        return A._linalg_vector_norm(ord, dims, keepdim, dtype=dtype)
    return A._linalg_matrix_norm(ord, dims or (-2, -1), keepdim, dtype=dtype)


@composite(
    samples=lambda rng: [((well_conditioned(rng, 3, 3),), {}),
                         ((well_conditioned(rng, 2, 3, 3), 1), {})],
    torch="linalg.cond",
)  # fmt: skip
def _linalg_cond(A, p: Any = None):
    "The condition number: the norm of a matrix times that of its inverse."
    matrices("linalg.cond", tuple(A.shape), "")
    if p in (None, 2, -2):
        values = A._svdvals()
        if not values.shape[-1]:
            return values.sum(-1)
        first, last = values.select(-1, 0), values.select(-1, -1)
        return last / first if p == -2 else first / last
    order_of(p)
    square("linalg.cond", tuple(A.shape))
    inverse, info = A._inv_ex()
    product = A._linalg_matrix_norm(p) * inverse._linalg_matrix_norm(p)
    return product.masked_fill(info > 0, inf)


def tolerances(A: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Singular values up to max(atol, rtol * the largest) count as zero: both as real tensors."""
    kind = A.dtype.to_real()
    if rtol is None:
        given = atol is not None and not (not isinstance(atol, View) and atol == 0)
        rtol = 0.0 if given else max(A.shape[-2:]) * EPSILON[kind]
    return tuple([(v if isinstance(v, View) else A.new_full((), v or 0, dtype=kind)).to(kind)
                  for v in (atol, rtol)])  # fmt: skip


def cut_off(values: Any, A: Any, atol: Any, rtol: Any) -> Any:
    """Below this a singular value counts as zero."""
    largest = values.amax(-1, True) if values.shape[-1] else values.sum(-1, True)
    atol, rtol = [t.unsqueeze(-1) if t.ndim else t for t in tolerances(A, atol, rtol)]
    return (largest * rtol).maximum(atol)


@composite(samples=lambda rng: [((well_conditioned(rng, 4, 3),), {})], torch="linalg.matrix_rank")
def _linalg_matrix_rank(A, tol: Any = None, hermitian: bool = False, *, atol: Any = None,
                        rtol: Any = None):  # fmt: skip
    "How many singular values are larger than max(atol, rtol * the largest)."
    matrices("torch.linalg.matrix_rank", tuple(A.shape), "input")
    if A.dtype.to_real() not in EPSILON:
        raise RuntimeError("This function doesn't handle types other than float and double")
    A = A.detach()
    values = A._eigh(False)[0].abs() if hermitian else A._svdvals()
    if tol is not None:
        atol, rtol = tol, 0.0
    return (values > cut_off(values, A, atol, rtol)).sum(-1, dtype=int64)


@composite(
    samples=lambda rng: [((well_conditioned(rng, 4, 3),), {}),
                         ((well_conditioned(rng, 2, 2, 3),), {})],
    torch="linalg.pinv",
)  # fmt: skip
def _linalg_pinv(A, rcond: Any = None, hermitian: bool = False, *, atol: Any = None,
                 rtol: Any = None):  # fmt: skip
    "The Moore-Penrose inverse; singular values below max(atol, rtol * the largest) count as zero."
    if A.ndim < 2 or A.dtype.to_real() not in EPSILON:
        raise LinalgError(
            f"linalg.pinv({A.dtype.short}{{{list(A.shape)}}}): expected a tensor with 2 or more"
            " dimensions of float, double, cfloat or cdouble types"
        )
    if rcond is not None:
        rtol = rcond
    return A._pinv(*tolerances(A, atol, rtol), hermitian)


@composite(
    apart="part",
    samples=lambda rng: [
        ((normal(rng, 3, 5), 2, 0, 1.5), {}),
        ((normal(rng, 3, 2, 4), 1, -2, 4), {}),
    ],
    inplace=True,
)
def renorm(input, p: float, dim: int, maxnorm: float):
    "Each slice along dim whose p-norm is above maxnorm, scaled down to it; the others as they are."
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    dim = wrap_dim(dim, input.ndim)
    length = input.norm(p, tuple(d for d in range(input.ndim) if d != dim), True)
    factor = (maxnorm / (length + 1e-7)).masked_fill(length <= maxnorm, 1)
    return input * factor
