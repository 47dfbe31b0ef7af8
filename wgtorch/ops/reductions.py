"""Ops that fold axes away. A reference gets `dim` sorted, non-negative, as a tuple."""

from __future__ import annotations

from math import prod as product
from typing import Any

import numpy as np

from wgtorch.op import Reduction, composite, declare
from wgtorch.ops.adding import add_up, average
from wgtorch.ops.arguments import one_dim
from wgtorch.ops.branches import choose
from wgtorch.ops.samples import apart, bools, integers, normal


def folding(values=normal):
    """Over everything, one dim from either side, several, and many rows or columns."""

    def samples(rng):
        yield (values(rng, 3, 5),), {}
        yield (values(rng, 3, 5, 2),), {"dim": 1}
        yield (values(rng, 3, 8, 4),), {"dim": (0, -1), "keepdim": True}
        yield (values(rng, 5, 3, 4, 2),), {"dim": (0, 2)}
        yield (values(rng, 70, 8),), {"dim": 0}
        yield (values(rng, 6, 68),), {"dim": -1}

    return samples


def along(values=apart):
    """Over one dim."""

    def samples(rng):
        yield (values(rng, 3, 5, 2),), {"dim": 1}
        yield (values(rng, 40, 8),), {"dim": 0, "keepdim": True}
        yield (values(rng, 3, 44),), {"dim": -1}

    return samples


def spread(grad, shape, dim, keepdim):
    """A gradient of what is left, for each of what was folded."""
    if dim and dim[-1] >= len(dim):  # else `expand` alone puts them back, in front
        grad = grad.restored(dim, keepdim)
    return grad.expand(shape)


def count(shape, dim) -> int:
    return product([shape[d] for d in dim])


# Sums


@declare(
    Reduction,
    combine="a + b",
    identity="0",
    folds="sum",
    vjp={"input": lambda grad, input_shape, dim, keepdim: spread(grad, input_shape, dim, keepdim)},
    samples=folding(),
    complex=True,
)
def sum_(input, dim: object = None, keepdim: bool = False, *, dtype: object = None):
    "Sum over dim (all of them by default). Integers are added as int64."
    return add_up(input, dim, keepdim)


NO_MEAN = (
    "mean(): could not infer output dtype. {which} dtype must be either a floating point or complex"
    " dtype. Got: {dtype}"
)


def of_fractions(args, given):
    asked = given.get("dtype")
    if asked is not None and asked.category < 2:
        raise RuntimeError(NO_MEAN.format(which="Optional", dtype=asked.short))
    return args, given


@declare(
    Reduction,
    combine="a + b",
    identity="0",
    leave="a / count",
    refuses=dict.fromkeys(("bool", "integer"), NO_MEAN.replace("{which}", "Input")),
    arrange=of_fractions,
    vjp={
        "input": lambda grad, input_shape, dim, keepdim: (
            spread(grad, input_shape, dim, keepdim) / count(input_shape, dim)
        )
    },
    samples=folding(),
    complex=True,
)
def mean(input, dim: object = None, keepdim: bool = False, *, dtype: object = None):
    "Mean over dim (all of them by default)."
    return average(input, dim, keepdim)


@declare(
    Reduction,
    combine="a + b",
    identity="0",
    enter="nan_as_zero(x)",
    vjp={
        "input": lambda grad, input, dim, keepdim: (
            spread(grad, input.shape, dim, keepdim) * ~input.isnan()
        )
    },
    samples=lambda rng: [((holes(rng, 3, 5),), {}), ((holes(rng, 3, 5),), {"dim": 0})],
)
def _nansum(input, dim: object = None, keepdim: bool = False):
    "Sum of what is not NaN, of floats."
    return add_up(choose(np.isnan(input), input.dtype.type(0), input), dim, keepdim)


def holes(rng, *shape):
    values = normal(rng, *shape)
    values[rng.random(shape) < 0.3] = np.nan
    return values


@composite(samples=lambda rng: [((holes(rng, 3, 5),), {"dim": 1})])
def nansum(input, dim: object = None, keepdim: bool = False, *, dtype: object = None):
    "Sum over dim of what is not NaN."
    input = input if dtype is None else input.to(dtype)
    return input._nansum(dim, keepdim) if input.is_floating_point() else input.sum(dim, keepdim)


@composite(samples=lambda rng: [((holes(rng, 3, 5),), {"dim": 1})])
def nanmean(input, dim: object = None, keepdim: bool = False, *, dtype: object = None):
    "Mean over dim of what is not NaN."
    input = input if dtype is None else input.to(dtype)
    if input.dtype.category < 2:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got"
            f" {input.dtype.short}"
        )
    return input._nansum(dim, keepdim) / (~input.isnan()).sum(dim, keepdim)


@composite(samples=lambda rng: [((integers(rng, 3, 5),), {}), ((integers(rng, 3, 5),), {"dim": 0})])
def count_nonzero(input, dim: object = None):
    "How many elements are not zero."
    return (input != 0).sum(dim)


# Products


@declare(
    Reduction,
    combine="a * b",
    identity="1",
    folds="sum",
    vjp={
        "input": lambda grad, input, dim, keepdim: grad.restored(dim, keepdim) * others(input, dim)
    },
    samples=lambda rng: [
        ((near_one(rng, 3, 5),), {}),
        *along(near_one)(rng),
        ((np.float32([[0, 2.5, -1], [3, 0, 0]]),), {"dim": 1}),
    ],
    front=one_dim("prod"),
    complex=True,
)
def prod(input, dim: object = None, keepdim: bool = False, *, dtype: object = None):
    "Product over dim (all of them by default). Integers are multiplied as int64."
    return np.multiply.reduce(input, dim, input.dtype, keepdims=keepdim)


def near_one(rng, *shape):
    return (1 + 0.1 * rng.standard_normal(shape)).astype(np.float32)


def others(input, dims: tuple[int, ...]):
    """The product of all the others, for each element of what is folded; right beside zeros."""
    if not input.numel() or not dims:
        return input.new_ones(input.shape)
    rest = [d for d in range(input.ndim) if d not in dims]
    moved = input.permute((*rest, *dims))
    flat = moved.reshape((*[input.shape[d] for d in rest], count(input.shape, dims)))
    before, behind = before_each(flat), before_each(flat.flip((-1,))).flip((-1,))
    back = tuple([int(d) for d in np.argsort((*rest, *dims))])
    return (before * behind).reshape(moved.shape).permute(back)


def before_each(rows):
    """The product of what stands before each element of the last dimension."""
    size = rows.shape[-1]
    products = rows._slice(-1, 0, size - 1).cumprod(-1)
    return rows.new_ones(rows.shape).slice_scatter(products, -1, 1, size)


# Truth


def flag(name: str, combine: str, identity: str, doc: str, ufunc: Any):
    def reference(input, dim: object = None, keepdim: bool = False):
        return ufunc.reduce(input, dim, keepdims=keepdim)

    reference.__name__, reference.__doc__ = name, doc
    return declare(
        Reduction,
        combine=combine,
        identity=identity,
        folds="bool",
        result="bool",
        no_dims="none",
        samples=folding(bools),
        complex=True,
    )(reference)


any_ = flag("any", "a | b", "0", "Whether any element over dim is not zero.", np.logical_or)
all_ = flag("all", "a & b", "1", "Whether no element over dim is zero.", np.logical_and)
