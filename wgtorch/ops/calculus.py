"""Differences and sums of areas along a dimension."""

from __future__ import annotations

from typing import Any

from wgtorch.dtype import bool_
from wgtorch.errors import ShapeError
from wgtorch.layout import wrap_dim, wrap_real_dim
from wgtorch.op import composite
from wgtorch.ops.samples import bools, integers, normal

# Differences


def checked_end(input: Any, end: Any, axis: int) -> Any:
    """What is put before or behind the input, which it must fit."""
    if end.ndim != input.ndim:
        raise ShapeError("diff expects prepend or append to be the same dimension as input")
    for d, (want, have) in enumerate(zip(input.shape, end.shape, strict=True)):
        if d != axis and want != have:
            raise ShapeError(
                "diff expects the shape of tensor to prepend or append to match that of input"
                f" except along the differencing dimension; input.size({d}) = {want}, but got"
                f" tensor.size({d}) = {have}"
            )
    return end


@composite(
    apart="all",
    samples=lambda rng: [
        ((normal(rng, 3, 5),), {}),
        ((normal(rng, 4, 3),), {"n": 2, "dim": 0}),
        ((normal(rng, 2, 3), 1, -1, normal(rng, 2, 1), normal(rng, 2, 2)), {}),
        ((bools(rng, 7),), {}),
        ((integers(rng, 3),), {"n": 4}),
    ],
)
def diff(input, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None):
    "The n-th differences of neighbours along dim, with what is put before and behind it."
    if not input.ndim:
        raise ShapeError("diff expects input to be at least one-dimensional")
    axis = wrap_dim(dim, input.ndim)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not n:
        return input.clone()
    parts = [input if x is input else checked_end(input, x, axis)
             for x in (prepend, input, append) if x is not None]  # fmt: skip
    if len(parts) > 1:
        input = input._cat(tuple(parts), axis)
    for _ in range(min(n, input.shape[axis])):
        size = input.shape[axis]
        after, before = input._slice(axis, 1, size), input._slice(axis, 0, max(size - 1, 0))
        input = after != before if input.dtype is bool_ else after - before
    return input


# Areas


def strips(op: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    """The area between each two neighbours along a dim."""
    axis = wrap_real_dim(dim, y.ndim)
    if y.dtype is bool_:
        raise RuntimeError(f"{op}: received a bool input for `y`, but bool is not supported")
    size = y.shape[axis]
    if x is not None:
        if dx is not None:
            raise TypeError(f"{op}() takes the places `x` or their distance `dx`, not both")
        if x.dtype is bool_:
            raise RuntimeError(f"{op}: received a bool input for `x`, but bool is not supported")
        where = wrap_dim(dim, x.ndim) if x.ndim > 1 else 0
        if not x.ndim or x.shape[where] != size:
            raise ShapeError(f"{op}: There must be one `x` value for each sample point")
        dx = x._slice(where, 1, size) - x._slice(where, 0, max(size - 1, 0))
        if x.ndim == 1:
            dx = dx.reshape((-1,) + (1,) * (y.ndim - 1 - axis))
    heights = y._slice(axis, 1, size) + y._slice(axis, 0, max(size - 1, 0))
    return heights * (1 if dx is None else dx) / 2, axis


def areas(rng):
    yield (normal(rng, 3, 5),), {}
    yield (normal(rng, 3, 5), normal(rng, 5)), {}
    yield (normal(rng, 3, 2), normal(rng, 3)), {"dim": 0}
    yield (normal(rng, 2, 3), normal(rng, 2, 3)), {}
    yield (integers(rng, 3, 5),), {"dx": 2.5, "dim": 0}


@composite(method=False, samples=areas, aliases=("trapz",))
def trapezoid(y, x: Any = None, *, dx: Any = None, dim: int = -1):
    "The area under y along dim by the trapezoidal rule, at places x or dx (1) apart."
    parts, axis = strips("trapezoid", y, x, dx, dim)
    return parts.sum(axis)


@composite(method=False, samples=areas)
def cumulative_trapezoid(y, x: Any = None, *, dx: Any = None, dim: int = -1):
    "The area under y up to each place but the first, as `trapezoid`."
    parts, axis = strips("cumulative_trapezoid", y, x, dx, dim)
    return parts.cumsum(axis)
