"""Margins: the last dimensions widened by elements of their own. Each element of the result reads
one of the input; in the gradient each element of the input adds up the few that read it, always in
the same order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wgtorch.layout import Layout
from wgtorch.op import Facts, Map, declare
from wgtorch.ops.samples import normal

MODES = ("reflect", "replicate", "circular")
MOST = 3  # dimensions at once


class Line(NamedTuple):
    """A widened dimension: how many elements go in front and behind (or, negative, are left out),
    of how many."""

    before: int
    after: int
    size: int

    @property
    def wide(self) -> int:
        return self.before + self.size + self.after

    def sources(self, mode: str) -> np.ndarray:
        """Which element each place reads."""
        at, last = np.arange(self.wide) - self.before, self.size - 1
        if mode == "circular":
            return at % max(self.size, 1)
        return last - abs(last - abs(at)) if mode == "reflect" else at.clip(0, last)


def widened(shape: tuple[int, ...], pads: tuple[int, ...], sign: int = 1) -> tuple[int, ...]:
    """The shape with pairs of margins, from the last dimension; with a sign of -1 without them."""
    more = [sign * (pads[k] + pads[k + 1]) for k in range(0, len(pads), 2)]
    return tuple([n + m for n, m in zip(shape, reversed(more + [0] * (len(shape) - len(more))))])  # noqa: B905


def lines(narrow: tuple[int, ...], pads: tuple[int, ...]) -> list[Line]:
    """Each widened dimension, from the last."""
    pairs = zip(pads[::2], pads[1::2], reversed(narrow), strict=False)
    return [Line(*pair) for pair in pairs]


def line_numbers(facts: Facts, narrow: tuple[int, ...]) -> tuple[int, ...]:
    """Of each dimension that may be widened: both sizes, what goes in front, and the step."""
    numbers: list[int] = []
    found = lines(narrow, facts.attrs["pads"])
    for line, step in zip(found, reversed(facts.layouts[0].strides), strict=False):
        numbers += line.wide, line.size, line.before, step
    return (*numbers, *(1, 1, 0, 0) * (MOST - len(found)))


def outer_places(facts: Facts) -> dict[str, Layout]:
    layout, kept = facts.layouts[0], len(facts.out.shape) - len(facts.attrs["pads"]) // 2
    return {"outer": Layout.of(layout.shape[:kept], layout.strides[:kept], layout.offset)}


def mode_constants(facts: Facts) -> dict[str, int | bool]:
    mode = facts.attrs["mode"]
    return {"DIMS": len(facts.attrs["pads"]) // 2} | {m.upper(): m == mode for m in MODES}


BOTH: dict[str, Any] = {  # facts of the two ops, each the gradient of the other
    "dtype": lambda input, **attrs: input,
    "places": outer_places,
    "constants": mode_constants,
    "promotes": False,
    "torch": "none",
    "complex": True,
}


def samples(rng):
    yield (normal(rng, 2, 3, 4), (2, 1), "reflect"), {}
    yield (normal(rng, 2, 3, 4), (2, 1, 0, 2), "replicate"), {}
    yield (normal(rng, 2, 3, 4), (1, 3, 2, 0, 1, 1), "circular"), {}
    yield (normal(rng, 4, 3, 5), (-1, 2, 2, 1, 2, 3), "reflect"), {}
    yield (normal(rng, 3, 5), (3, -2, -1, 4), "replicate"), {}


def back_samples(rng):
    for (input, pads, mode), attrs in samples(rng):
        yield (normal(rng, *widened(input.shape, pads)), pads, mode), attrs


@declare(
    Map,
    shader="margins.wgsl",
    shape=lambda input, pads, mode: widened(input, pads),
    numbers=lambda facts: line_numbers(facts, facts.layouts[0].shape),
    vjp={"input": lambda grad, pads, mode: grad._margins_backward(pads, mode)},
    samples=samples,
    **BOTH,
)
def _margins(input, pads: tuple, mode: str):
    """`input` with margins, in pairs from the last dimension: mirrored elements ("reflect"), the
    first and the last ("replicate"), or those of the other end ("circular")."""
    for back, line in enumerate(lines(input.shape, pads)):
        input = input.take(line.sources(mode), input.ndim - 1 - back)
    return input


@declare(
    Map,
    shader="margins_backward.wgsl",
    shape=lambda input, pads, mode: widened(input, pads, -1),
    numbers=lambda facts: line_numbers(facts, facts.out.shape),
    vjp={"input": lambda grad, pads, mode: grad._margins(pads, mode)},
    samples=back_samples,
    **BOTH,
)
def _margins_backward(input, pads: tuple, mode: str):
    "For each element that such margins are made of, the sum of the elements it became."
    for back, line in enumerate(lines(widened(input.shape, pads, -1), pads)):
        dim = input.ndim - 1 - back
        sources = line.sources(mode)
        order = np.argsort(sources, kind="stable")
        read, starts = np.unique(sources[order], return_index=True)
        total = np.zeros((*input.shape[:dim], line.size, *input.shape[dim + 1 :]), input.dtype)
        if input.size:
            total[(slice(None),) * dim + (read,)] = np.add.reduceat(
                input.take(order, dim), starts, dim
            )
        input = total
    return input
