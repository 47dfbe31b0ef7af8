"""Ops that fold axes away. A reference gets `dim` sorted, non-negative, as a tuple."""

from __future__ import annotations

import numpy as np

from wgtorch.op import Reduction, declare
from wgtorch.ops.samples import normal


def samples(rng):
    yield (normal(rng, 3, 5),), {}
    yield (normal(rng, 3, 5, 2),), {"dim": 1}
    yield (normal(rng, 3, 5, 2),), {"dim": (0, -1)}
    yield (normal(rng, 300, 7),), {"dim": 0, "keepdim": True}


@declare(
    Reduction,
    combine="a + b",
    identity="0",
    result="sum",
    vjp={"input": lambda grad, input_shape, dim, keepdim: grad.restored(dim, keepdim).expand(
        input_shape)},
    samples=samples,
)  # fmt: skip
def sum_(input, dim: object = None, keepdim: bool = False, *, dtype: object = None):
    "Sum over dim (all of them by default). Integers are added as int64"
    return np.sum(input, axis=dim, keepdims=keepdim, dtype=input.dtype)


@declare(
    Reduction,
    combine="maximum(a, b)",
    identity="lowest",
    empty="amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the"
    " reduction dim with the 'dim' argument.",
    vjp={"input": lambda grad, input, result, dim, keepdim: shared(
        grad, input, result, dim, keepdim)},
    samples=samples,
)  # fmt: skip
def amax(input, dim: object = (), keepdim: bool = False):
    "Largest value over dim; NaN wins; ties share the gradient evenly"
    return np.max(input, axis=dim, keepdims=keepdim)


def shared(grad, input, result, dim, keepdim):
    """The gradient, spread evenly over the elements that won."""
    won = input == result.restored(dim, keepdim)
    return grad.restored(dim, keepdim) * won / won.sum(dim, True)
