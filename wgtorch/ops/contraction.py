"""Products summed over chosen dimensions, and distances: what stands on matmul and reductions."""

from __future__ import annotations

from itertools import pairwise
from math import inf, prod
from typing import Any

from wgtorch.dtype import bool_
from wgtorch.errors import LinalgError, ShapeError
from wgtorch.layout import broadcast, wrap_dim
from wgtorch.op import composite
from wgtorch.ops.samples import integers, normal

# Over dimensions


def dims_to_contract(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    if hasattr(dims, "tolist"):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise ShapeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(-dims, 0)), list(range(dims))
    if not isinstance(dims, list | tuple) or len(dims) != 2:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]]"
            f" containing two lists, but got dims={dims}"
        )
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        raise ShapeError("both dimension lists should have same length")
    return first, second


@composite(
    method=False,
    samples=lambda rng: [
        ((normal(rng, 2, 3, 4), normal(rng, 3, 4, 5)), {}),
        ((normal(rng, 2, 3), normal(rng, 4, 3)), {"dims": ([1], [1])}),
        ((normal(rng, 2), normal(rng, 3)), {"dims": 0}),
        ((normal(rng, 2, 1, 4), normal(rng, 4, 3, 5)), {"dims": ([2, 1], [0, 1])}),
    ],
)
def tensordot(a, b, dims: object = 2):
    "Products summed over the last `dims` dimensions of a and the first of b, or over two lists."
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    first, second = dims_to_contract(a, b, dims)
    lost = [wrap_dim(d, a.ndim) for d in first]
    taken = [wrap_dim(d, b.ndim) for d in second]
    for (said, one), (also, other) in zip(
        zip(first, lost, strict=True), zip(second, taken, strict=True), strict=True
    ):
        sizes = a.shape[one], b.shape[other]
        if sizes[0] == sizes[1]:
            continue
        if 1 not in sizes:
            raise ShapeError(
                f"contracted dimensions need to match, but first has size {sizes[0]} in dim {said}"
                f" and second has size {sizes[1]} in dim {also}"
            )
        if sizes[0] == 1:
            b = b.sum(other, True).to(b.dtype)
        else:
            a = a.sum(one, True).to(a.dtype)
    left = [d for d in range(a.ndim) if d not in lost]
    right = [d for d in range(b.ndim) if d not in taken]
    inner = prod(a.shape[d] for d in lost)
    shape = [a.shape[d] for d in left] + [b.shape[d] for d in right]
    rows = a.permute((*left, *lost)).reshape((prod(a.shape[d] for d in left), inner))
    columns = b.permute((*taken, *right)).reshape((inner, prod(b.shape[d] for d in right)))
    return rows.mm(columns).reshape(tuple(shape))


@composite(
    samples=lambda rng: [
        ((normal(rng, 2, 3), normal(rng, 4, 2)), {}),
        ((normal(rng, 3), normal(rng, 2, 1, 2)), {}),
        ((integers(rng, 2), integers(rng, 2, 2)), {}),
    ]
)
def kron(input, other):
    "The Kronecker product: every element of one times the whole of the other, as blocks."
    rank = max(input.ndim, other.ndim)
    x = (1,) * (rank - input.ndim) + tuple(input.shape)
    y = (1,) * (rank - other.ndim) + tuple(other.shape)
    blocks = input.reshape(tuple(size for n in x for size in (n, 1)))
    inner = other.reshape(tuple(size for n in y for size in (1, n)))
    return (blocks * inner).reshape(tuple(n * m for n, m in zip(x, y, strict=True)))


def best_splits(sizes: list[int]) -> list[list[int]]:
    """Where to cut each run of matrices so that the fewest numbers are multiplied."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], cut[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return cut


def chained(matrices: list[Any]) -> Any:
    sizes = [m.shape[0] for m in matrices] + [matrices[-1].shape[1]]
    cut = best_splits(sizes)

    def between(i: int, j: int) -> Any:
        return matrices[i] if i == j else between(i, cut[i][j]).mm(between(cut[i][j] + 1, j))

    return between(0, len(matrices) - 1)


@composite(
    method=False,
    samples=lambda rng: [((normal(rng, 2, 5), normal(rng, 5, 3), normal(rng, 3, 4)), {})],
)
def chain_matmul(*matrices):
    "The product of matrices, in the order that multiplies the fewest numbers."
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for m in matrices:
        if m.ndim != 2:
            raise ShapeError(f"Tensor dimension is {m.ndim}, expected 2 instead.")
    for place, (m, n) in enumerate(pairwise(matrices)):
        if m.shape[1] != n.shape[0]:
            raise ShapeError(
                f"multi_dot(): tensors {place} and {place + 1} with shapes {list(m.shape)} and"
                f" {list(n.shape)} cannot be multiplied"
            )
    return chained(list(matrices))


@composite(samples=lambda rng: [((normal(rng, 3, 5),), {}), ((integers(rng, 4, 4),), {})])
def trace(input):
    "The sum of the diagonal of a matrix."
    if input.ndim != 2:
        raise LinalgError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype is bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return input.diagonal().sum()


# Distances


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 4), normal(rng, 3, 4)), {}),
        ((normal(rng, 3, 1), normal(rng, 4)), {"p": 1}),
    ]
)
def dist(input, other, p: float = 2):
    "The p-norm of input - other."
    return (input - other).norm(p)


EUCLIDEAN = {  # whether distances come from one matrix product, by the number of rows
    "use_mm_for_euclid_dist_if_necessary": lambda rows, columns: rows > 25 or columns > 25,
    "use_mm_for_euclid_dist": lambda rows, columns: True,
    "donot_use_mm_for_euclid_dist": lambda rows, columns: False,
}


def by_products(x1, x2):
    """|a - b| from a.a - 2 a.b + b.b; quick, and exact to about the root of float's precision."""
    ones, other_ones = x1.new_ones((*x1.shape[:-1], 1)), x2.new_ones((*x2.shape[:-1], 1))
    left = x1._cat((x1 * -2, x1.square().sum(-1, True), ones), x1.ndim - 1)
    right = x2._cat((x2, other_ones, x2.square().sum(-1, True)), x2.ndim - 1)
    squares = left.matmul(right.transpose(-2, -1)).clamp(min=0)
    zero = squares == 0
    return squares.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


@composite(
    method=False,
    samples=lambda rng: [
        ((normal(rng, 3, 4), normal(rng, 5, 4)), {}),
        ((normal(rng, 2, 3, 4), normal(rng, 1, 5, 4)), {"p": 1}),
        ((normal(rng, 3, 4), normal(rng, 5, 4)), {"p": 3}),
        ((normal(rng, 3, 4), normal(rng, 2, 4)), {"p": inf}),
    ],
)
def cdist(x1, x2, p: float = 2,
          compute_mode: str = "use_mm_for_euclid_dist_if_necessary"):  # fmt: skip
    "The p-norm distance of each row of x1 (..., n, k) to each row of x2 (..., m, k): (..., n, m)."
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise ShapeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
        if not x.is_floating_point():
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {x.dtype.short}"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in EUCLIDEAN:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {x1.dtype.short} but found {x2.dtype.short}")
    broadcast(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    if p == 2 and x1.shape[-1] and EUCLIDEAN[compute_mode](x1.shape[-2], x2.shape[-2]):
        return by_products(x1, x2)
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)
