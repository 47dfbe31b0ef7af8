"""Ops that look for the largest and the smallest. NaN beats all; the first of equals wins."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.op import Other, Reduction, composite, declare, results
from wgtorch.ops.arguments import one_dim
from wgtorch.ops.reductions import along, folding
from wgtorch.ops.samples import apart, integers
from wgtorch.storage import View

NOTHING = (
    "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the"
    " reduction dim with the 'dim' argument."
)


def shared(grad, input, result, dim, keepdim):
    """The gradient, spread evenly over the elements that won."""
    won = input == result.restored(dim, keepdim)
    return grad.restored(dim, keepdim) * won / won.sum(dim, True)


def ties(rng, *shape):
    return integers(rng, *shape).astype(np.float32)


@declare(
    Reduction,
    combine="maximum(a, b)",
    identity="lowest",
    empty=NOTHING.format(name="amax"),
    vjp={"input": shared},
    samples=folding(apart),
)
def amax(input, dim: object = (), keepdim: bool = False):
    "Largest value over dim; NaN wins; ties share the gradient evenly."
    return np.maximum.reduce(input, dim, keepdims=keepdim)


@declare(
    Reduction,
    combine="minimum(a, b)",
    identity="highest",
    empty=NOTHING.format(name="amin"),
    vjp={"input": shared},
    samples=folding(apart),
)
def amin(input, dim: object = (), keepdim: bool = False):
    "Smallest value over dim; NaN wins; ties share the gradient evenly."
    return np.minimum.reduce(input, dim, keepdims=keepdim)


# Where they are


def placed(input: np.ndarray, dim: tuple[int, ...], keepdim: bool, find: Any):
    """The place of what `find` finds: along one dim, or counted through all of them."""
    if not input.ndim:
        return np.zeros((), np.int64)
    if len(dim) == 1:
        return find(input, axis=dim[0], keepdims=keepdim)
    return find(input, keepdims=keepdim)


def no_bools(name: str) -> dict[str, str]:
    return {"bool": f"{name}(): does not support bool input"}


EMPTY_PLACE = "{name}(): Expected reduction dim to be specified for input.numel() == 0."


@declare(
    Reduction,
    combine="above(a, b)",
    identity="lowest",
    arg=True,
    result="index",
    empty=EMPTY_PLACE.format(name="argmax"),
    front=one_dim("argmax"),
    refuses=no_bools("argmax"),
    samples=lambda rng: [((apart(rng, 3, 5),), {}), *along(ties)(rng)],
)
def argmax(input, dim: object = None, keepdim: bool = False):
    "Where the largest value is, along dim or in the flattened input."
    return placed(input, dim, keepdim, np.ndarray.argmax)


@declare(
    Reduction,
    combine="below(a, b)",
    identity="highest",
    arg=True,
    result="index",
    empty=EMPTY_PLACE.format(name="argmin"),
    front=one_dim("argmin"),
    refuses=no_bools("argmin"),
    samples=lambda rng: [((apart(rng, 3, 5),), {}), *along(ties)(rng)],
)
def argmin(input, dim: object = None, keepdim: bool = False):
    "Where the smallest value is, along dim or in the flattened input."
    return placed(input, dim, keepdim, np.ndarray.argmin)


# Both


def scattered(grad, indices, input_shape, dim, keepdim):
    """The gradient of a value taken at `indices` along the one dim of `dim`."""
    if not dim:
        return grad.reshape(input_shape)
    places, values = indices.restored(dim, keepdim), grad.restored(dim, keepdim)
    return grad.new_zeros(input_shape).scatter(dim[0], places, values)


def taken(input: np.ndarray, dim: tuple[int, ...], keepdim: bool, find: Any):
    if not dim:
        return input.copy(), np.zeros((), np.int64)
    places, axis = find(input, dim[0], keepdims=True), dim[0]
    if axis == input.ndim - 1:
        rows = input.reshape(-1, input.shape[axis])
        values = rows[np.arange(len(rows)), places.ravel()].reshape(places.shape)
    else:
        values = np.take_along_axis(input, places, axis)
    return (values, places) if keepdim else (values.squeeze(axis), places.squeeze(axis))


@declare(
    Reduction,
    combine="above(a, b)",
    identity="lowest",
    arg=True,
    result=("same", "index"),
    outputs=("values", "indices"),
    empty=NOTHING.format(name="max"),
    vjp={"input": scattered},
    samples=along(),
    torch="max",
)
def _max_dim(input, dim: int, keepdim: bool = False):
    "The largest value along dim, and where it is."
    return taken(input, dim, keepdim, np.ndarray.argmax)


@declare(
    Reduction,
    combine="below(a, b)",
    identity="highest",
    arg=True,
    result=("same", "index"),
    outputs=("values", "indices"),
    empty=NOTHING.format(name="min"),
    vjp={"input": scattered},
    samples=along(),
    torch="min",
)
def _min_dim(input, dim: int, keepdim: bool = False):
    "The smallest value along dim, and where it is."
    return taken(input, dim, keepdim, np.ndarray.argmin)


@composite(samples=lambda rng: [((apart(rng, 3, 5),), {}), ((apart(rng, 3, 5),), {"dim": 1})])
def max_(input, dim: object = None, keepdim: bool = False, *, other: Other = None):
    "The largest element; with dim, (values, indices) along it; with a tensor, elementwise."
    if dim is None and other is None:
        if not input.layout.numel:
            raise RuntimeError(NOTHING.format(name="max"))
        return input.amax()
    other = dim if isinstance(dim, View) else other
    if other is not None:
        return input.maximum(other)
    return input._max_dim(dim, keepdim)


@composite(samples=lambda rng: [((apart(rng, 3, 5),), {}), ((apart(rng, 3, 5),), {"dim": 1})])
def min_(input, dim: object = None, keepdim: bool = False, *, other: Other = None):
    "The smallest element; with dim, (values, indices) along it; with a tensor, elementwise."
    if dim is None and other is None:
        if not input.layout.numel:
            raise RuntimeError(NOTHING.format(name="min"))
        return input.amin()
    other = dim if isinstance(dim, View) else other
    if other is not None:
        return input.minimum(other)
    return input._min_dim(dim, keepdim)


@composite(samples=lambda rng: [((apart(rng, 3, 5),), {"dim": 1})])
def aminmax(input, *, dim: object = None, keepdim: bool = False):
    "(min, max) over dim, or of everything."
    if dim is None and not input.numel():
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no"
            " identity."
        )
    dims = () if dim is None else dim
    return results("aminmax", ("min", "max"))(input.amin(dims, keepdim), input.amax(dims, keepdim))
