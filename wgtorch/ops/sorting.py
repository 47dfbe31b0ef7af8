"""Ops that put elements in order along one dim. Stable, and NaN is above all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wgtorch.dtype import int64
from wgtorch.layout import wrap_dim
from wgtorch.op import Facts, Pass, Structured, declare
from wgtorch.ops.foremost import FEW, few
from wgtorch.ops.ordering import order, ordered
from wgtorch.ops.samples import apart, integers, ties


def sort_plan(facts: Facts) -> list[Pass]:
    if not facts.out.numel:
        return []
    dim = wrap_dim(facts.attrs["dim"], len(facts.out.shape))
    length = facts.out.shape[dim] if facts.out.shape else 1
    descending = facts.attrs["descending"]
    if length <= FEW:
        return few(facts, dim, length, descending)
    return ordered(facts, dim, descending, length)


def samples(rng) -> Iterator[tuple[tuple, dict[str, Any]]]:
    yield (apart(rng, 3, 5),), {"dim": 1, "descending": False}
    yield (apart(rng, 3, 5, 2),), {"dim": 1, "descending": True}
    yield (ties(rng, 40, 7),), {"dim": 0, "descending": True}
    yield (apart(rng, 3000),), {"dim": 0, "descending": False}
    yield (integers(rng, 4, 9) << 33,), {"dim": 1, "descending": False}


@declare(
    Structured,
    shape=lambda input, dim, descending: (input, input),
    dtype=lambda input, **attrs: (input, int64),
    outputs=("values", "indices"),
    by_first="dim",
    plan=sort_plan,
    vjp={
        "input": lambda grad, indices, input_shape, dim: (
            grad.new_zeros(input_shape).scatter(dim, indices, grad) if input_shape else grad
        )
    },
    samples=samples,
    torch="sort",
)
def _sort(input, dim: int, descending: bool):
    "(values in stable order along dim, where they were)."
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    places = order(input, dim, descending)
    return np.take_along_axis(input, places, dim), places
