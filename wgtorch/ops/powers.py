"""Matrices as factors: powers, exponentials, chains, and tensors that are read as matrices."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, log2, prod
from typing import Any

from wgtorch.errors import LinalgError, ShapeError
from wgtorch.layout import broadcast, wrap_dim, wrap_real_dim
from wgtorch.op import composite
from wgtorch.ops.batched import everything
from wgtorch.ops.contraction import chained
from wgtorch.ops.matrices import check_reflections, square, well_conditioned
from wgtorch.ops.norms import floats
from wgtorch.ops.samples import normal

# Powers and products


@composite(
    samples=lambda rng: [((well_conditioned(rng, 3, 3), n), {}) for n in (0, 1, 5, -2)],
)
def matrix_power(input, n: int):
    "A matrix times itself, n times over; of the inverse for negative n."
    square("linalg.matrix_power", tuple(input.shape))
    if n < 0:
        input, n = input._inv(), -n
    if not n:
        ones = input.new_ones((input.shape[-1],)).diag_embed()
        return input._level(ones.expand(tuple(input.shape)))
    result, power = None, input
    while n:
        if n & 1:
            result = power if result is None else result.matmul(power)
        n >>= 1
        power = power.matmul(power) if n else power
    return result.clone() if result is input else result


TAYLOR = 18  # terms; exact to float32's precision up to a norm of 3, to float64's up to 1


@composite(samples=lambda rng: [((normal(rng, 2, 3, 3),), {}), ((normal(rng, 3, 3) * 3,), {})])
def matrix_exp(input):
    "The sum of A^k / k!, by scaling and squaring of a Taylor polynomial. Reads the norm: waits."
    square("linalg.matrix_exp", tuple(input.shape))
    floats("linalg.matrix_exp", input)
    if not input.numel():
        return input.clone()
    norms = everything(input.detach().abs().sum(-2))
    size = float(norms.masked_fill(~norms.isfinite(), 0).amax())  # one inf is no matter of others
    size = size / 3 if input.dtype.to_real().itemsize < 8 else size
    squarings = min(1000, ceil(log2(size))) if 1 < size < 1e300 else 0
    scaled = input * 0.5**squarings
    ones = input.new_ones((input.shape[-1],)).diag_embed()
    result = ones + scaled / TAYLOR
    for k in range(TAYLOR - 1, 0, -1):
        result = ones + scaled.matmul(result) / k
    for _ in range(squarings):
        result = result.matmul(result)
    return result


@composite(
    method=False,
    samples=lambda rng: [(([normal(rng, 2, 5), normal(rng, 5, 3), normal(rng, 3, 4)],), {}),
                         (([normal(rng, 5), normal(rng, 5, 3), normal(rng, 3)],), {})],
    torch="linalg.multi_dot",
)  # fmt: skip
def _linalg_multi_dot(tensors):
    "The product of matrices in the cheapest order; the first and the last may be vectors."
    if len(tensors) < 2:
        raise LinalgError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    chain = list(tensors)
    chain[0] = chain[0].unsqueeze(0) if first else chain[0]
    chain[-1] = chain[-1].unsqueeze(-1) if last else chain[-1]
    for place, (m, n) in enumerate(pairwise(chain)):
        if m.ndim != 2 or n.ndim != 2:
            raise LinalgError(f"multi_dot(): tensor {place} must be 2D but got {m.ndim}D")
        if m.shape[1] != n.shape[0]:
            raise LinalgError(
                f"multi_dot(): tensors {place} and {place + 1} with shapes"
                f" {list(tensors[place].shape)} and {list(tensors[place + 1].shape)} cannot be"
                " multiplied"
            )
    result = chained(chain)
    return result.squeeze(tuple(d for d, lost in ((0, first), (1, last)) if lost))


@composite(
    samples=lambda rng: [((normal(rng, 4, 3), normal(rng, 4, 3)), {})], torch="linalg.vecdot"
)
def _linalg_vecdot(x, y, *, dim: int = -1):
    "The inner products of vectors along dim."
    return (x.conj() * y).sum(dim) if x.is_complex() else (x * y).sum(dim)


@composite(samples=lambda rng: [((normal(rng, 4, 3), normal(rng, 1, 3)), {})], torch="linalg.cross")
def _linalg_cross(input, other, *, dim: int = -1):
    "The products of vectors of length 3 that are perpendicular to both."
    if input.ndim != other.ndim:
        raise ShapeError("linalg.cross: inputs must have the same number of dimensions.")
    sizes = [t.shape[wrap_dim(dim, t.ndim)] for t in (input, other)]
    if sizes != [3, 3]:
        raise LinalgError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and"
            f" {sizes[1]}"
        )
    rolled = [(t.roll(-1, dim), t.roll(-2, dim)) for t in (input, other)]
    return rolled[0][0] * rolled[1][1] - rolled[0][1] * rolled[1][0]


@composite(samples=lambda rng: [((normal(rng, 4, 3, 2), normal(rng, 1, 3, 2)), {"dim": 1})])
def cross(input, other, dim: int | None = None):
    "As `linalg.cross`, along dim; by default along the first dimension of size 3."
    if dim is None:
        sizes = broadcast(input.layout.shape, other.layout.shape)
        if 3 not in sizes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = sizes.index(3) - len(sizes)
    return input._linalg_cross(other, dim=dim)


# Tensors as matrices


@composite(samples=None, torch="linalg.tensorinv")
def _linalg_tensorinv(A, ind: int = 2):
    "The inverse of the matrix that the first `ind` dimensions and the rest make up."
    if ind <= 0:
        raise LinalgError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, rest = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if prod(first) != prod(rest):
        raise LinalgError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) =="
            f" prod(self.shape[:ind]), but got {prod(rest)} != {prod(first)}"
        )
    return A.reshape((prod(first), prod(rest)))._inv().reshape((*rest, *first))


@composite(samples=None, torch="linalg.tensorsolve")
def _linalg_tensorsolve(A, B, dims: Any = None):
    "X with the sum over its dimensions of A X = B."
    if dims is not None:
        last = list(range(A.ndim - len(dims), A.ndim))
        A = A.movedim(tuple(dims), tuple(last))
    rest = tuple(A.shape[B.ndim :])
    if prod(rest) != B.numel():
        raise LinalgError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) =="
            f" prod(self.shape[:other.ndim]), but got {prod(rest)} != {B.numel()}"
        )
    return A.reshape((B.numel(), prod(rest)))._solve(B.reshape((-1, 1))).reshape(rest)


# Matrices from vectors


@composite(samples=lambda rng: [((normal(rng, 2, 4),), {"N": 3}), ((normal(rng, 3),), {})],
           torch="linalg.vander")  # fmt: skip
def _linalg_vander(x, *, N: int | None = None):
    "The powers 0 to N - 1 of each element, as a new last dimension."
    x = x if x.ndim else x.unsqueeze(0)
    count = x.shape[-1] if N is None else N
    if count < 1:
        raise LinalgError(f"N must be greater than 1, got {count}")
    column = x.unsqueeze(-1)
    ones = column.new_ones(tuple(column.shape))
    repeated = column.expand((*column.shape[:-1], count - 1))
    return ones._cat((ones, repeated), ones.ndim - 1).cumprod(-1)


@composite(samples=lambda rng: [((normal(rng, 4),), {"N": 3})])
def vander(x, N: int | None = None, increasing: bool = False):
    "The powers of each element of a vector as a row, in descending order unless `increasing`."
    if x.ndim != 1:
        raise LinalgError(f"x must be a one-dimensional tensor, got {x.ndim}D")
    count = x.shape[0] if N is None else N
    if not count:
        return x.new_zeros((x.shape[0], 0))
    rows = x._linalg_vander(N=count)
    return rows if increasing else rows.flip(-1)


@composite(
    samples=lambda rng: [((normal(rng, 4, 3), normal(rng, 3)), {})],
    torch="linalg.householder_product",
    aliases=("orgqr",),
)
def _linalg_householder_product(A, tau):
    "The first columns of the product of reflections 1 - tau v v^T, v below the diagonal of A."
    op = "torch.linalg.householder_product"
    if A.ndim < 2:
        raise LinalgError(f"{op}: input must have at least 2 dimensions.")
    rows, columns = A.shape[-2:]
    if rows < columns:
        raise LinalgError(f"{op}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if columns < tau.shape[wrap_real_dim(-1, tau.ndim)]:
        raise LinalgError(f"{op}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    check_reflections(op, "orgqr_cpu", A, tau)
    if tau.dtype is not A.dtype:
        raise LinalgError(
            f"{op}: tau dtype {tau.dtype.short} does not match input dtype {A.dtype.short}"
        )
    eye = A.new_ones((rows,)).diag_embed()._slice(-1, 0, columns)
    vectors = A.tril(-1) + eye
    result = A._level(eye.expand(tuple(A.shape)))
    for k in range(tau.shape[-1] - 1, -1, -1):
        v = vectors._slice(-1, k, k + 1)
        scale = tau._slice(-1, k, k + 1).unsqueeze(-1)
        result = result - scale * v.matmul(v.mH.matmul(result))
    return result
