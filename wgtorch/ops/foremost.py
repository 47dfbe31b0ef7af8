"""Ops that find the first few along one dim, in order. Equals stay as they came; NaN is above all.

On a GPU a row is cut into parts, each of which leaves its first few, until one part is the whole:
threads keep them in registers where few are wanted, workgroups narrow down how large they are.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from wgtorch.dtype import int32, int64
from wgtorch.layout import wrap_dim
from wgtorch.op import Facts, Pass, Structured, declare
from wgtorch.ops.ordering import MAX_GROUPS, extreme, groups, last, order, ordered, said
from wgtorch.ops.samples import apart, ties
from wgtorch.record import Record

FEW = 32  # what a thread can keep in order
LONG = 2048  # a row that is worth a workgroup
SPARE = 4  # times as long as what is looked for: then the cpu does better not to sort all


class ByThreads(Record):
    """Each thread keeps the first `count` <= FEW of its part in registers."""

    count: int
    software: bool
    keep = "KEEP"
    shader = "best_few.wgsl"

    @property
    def front(self) -> tuple[str, ...]:
        return (f"const KEEP = {self.count}u;",)

    def lanes(self, rows: int, length: int, first: bool) -> int:
        """Into how many parts a row is cut."""
        threads = 2048 if self.software else 1 << 16
        lanes = length // max(64, 4 * self.count)
        return max(1, min(threads // rows, lanes) if first else lanes)

    def launch(self, rows: int, length: int, lanes: int) -> tuple[tuple[int, int, int], tuple]:
        """(workgroups, numbers)."""
        step = 1 if self.software or lanes == 1 else lanes
        part = -(-length // lanes) if step == 1 else 1
        return groups(rows * lanes), (rows, length, lanes, part, step)


class ByGroups(Record):
    """Each workgroup finds the first `count` of its part, and sorts at most `most`."""

    count: int
    most: int
    keep = "launch.keep"
    shader = "best_many.wgsl"

    @property
    def front(self) -> tuple[str, ...]:
        return f"const SIZE = {self.most}u;", "network.wgsl"

    def lanes(self, rows: int, length: int, first: bool) -> int:
        """Into how many parts a row is cut: enough for a large GPU, none that leaves half."""
        return max(1, min(1024 // rows, length // max(2 * LONG, 8 * self.count)))

    def launch(self, rows: int, length: int, lanes: int) -> tuple[tuple[int, int, int], tuple]:
        """(workgroups, numbers)."""
        blocks = min(rows * lanes, MAX_GROUPS), 1, 1
        return blocks, (rows, length, lanes, -(-length // lanes), self.count)


def way(facts: Facts, length: int, count: int) -> ByThreads | ByGroups | None:
    """How to find the first `count` of so many; None where all had better be sorted."""
    dtype, software = facts.dtypes[0], facts.traits.is_software
    assert dtype is not None
    most = max(512, 1 << (2 * count - 1).bit_length())
    room = (facts.traits.workgroup_bytes - 9 * 1024 - 64) // (12 if dtype.itemsize == 8 else 8)
    while most > room and most >= 2 * count:
        most //= 2
    if length >= LONG and count <= most <= room and not software:  # there, barriers are dear
        return ByGroups(count, most)
    return ByThreads(count, software) if count <= FEW else None


def few(facts: Facts, dim: int, count: int, largest: bool) -> list[Pass]:
    """The passes that leave the first `count` along `dim`, in order."""
    layout, dtype = facts.layouts[0], facts.dtypes[0]
    assert layout is not None and dtype is not None
    whole = layout.shape[dim] if layout.shape else 1
    found = way(facts, whole, count)
    if found is None:
        return ordered(facts, dim, largest, count)
    rows, wide, length = layout.numel // whole, dtype.itemsize == 8, whole
    reads: tuple[str, ...] = ("input",)
    source, passes = seen(wide), list[Pass]()
    while True:
        lanes = found.lanes(rows, length, not passes)
        blocks, numbers = found.launch(rows, length, lanes)
        numbers = (*numbers, 0xFFFFFFFF if largest else 0, whole)
        front = (*found.front, f"const WIDE = {said(wide)};", source)
        if lanes == 1:
            places = (("input", last(layout, dim)), ("into", last(facts.out, dim)))
            passes.append(Pass(found.shader, blocks, numbers, reads, ("values", "indices"),
                               (*front, result(found.keep)), places=places))  # fmt: skip
            return passes
        names = tuple([f"{word}{len(passes)}" for word in ("keys", "lows", "places")])
        temps = tuple([(name, int32, rows * lanes * count) for name in names])
        front = (*front, kept_as(found.keep, *names))
        passes.append(Pass(found.shader, blocks, numbers, reads, names, front, temps,
                           places=(("input", last(layout, dim)),)))  # fmt: skip
        reads, source = ("input", *names), seen_again(*names)
        length = lanes * count


def seen(wide: bool) -> str:
    """WGSL for an element of the input."""
    low = "sort_key_t(value, 0u) ^ launch.flip" if wide else "0u"
    return (
        "fn found_at(row: u32, i: u32) -> Found {\n"
        "    let value = input_nth(row * launch.length + i);\n"
        f"    return Found(sort_key_t(value, 1u) ^ launch.flip, {low}, i);\n}}"
    )


def seen_again(keys: str, lows: str, places: str) -> str:
    """WGSL for what a pass before kept."""
    words = ", ".join(f"bitcast<u32>({name}_at(at))" for name in (keys, lows, places))
    return (
        "fn found_at(row: u32, i: u32) -> Found {\n"
        f"    let at = row * launch.length + i;\n    return Found({words});\n}}"
    )


def kept_as(keep: str, keys: str, lows: str, places: str) -> str:
    """WGSL that leaves what was found for the next pass."""
    return (
        "fn leave(row: u32, lane: u32, n: u32, found: Found) {\n"
        f"    let at = (row * launch.lanes + lane) * {keep} + n;\n"
        f"    set_{keys}(at, bitcast<i32>(found.key));\n"
        f"    set_{lows}(at, bitcast<i32>(found.low));\n"
        f"    set_{places}(at, bitcast<i32>(found.place));\n}}"
    )


def result(keep: str) -> str:
    """WGSL that leaves what was found."""
    return (
        "fn leave(row: u32, lane: u32, n: u32, found: Found) {\n"
        f"    let to = into(row * {keep} + n);\n"
        "    set_values(to, input_nth(row * launch.whole + found.place));\n"
        "    set_indices(to, indices_of(i32(found.place)));\n}"
    )


def few_shape(input: tuple[int, ...], k: int, dim: int, largest: bool):
    axis = wrap_dim(dim, len(input))
    shape = tuple([k if d == axis else n for d, n in enumerate(input)])
    return shape, shape


def few_plan(facts: Facts) -> list[Pass] | None:
    if not facts.out.numel:
        return []
    dim = wrap_dim(facts.attrs["dim"], len(facts.out.shape))
    return few(facts, dim, facts.attrs["k"], facts.attrs["largest"])


@declare(
    Structured,
    shape=few_shape,
    dtype=lambda input, **attrs: (input, int64),
    outputs=("values", "indices"),
    by_first="dim",
    plan=few_plan,
    vjp={
        "input": lambda grad, indices, input_shape, dim: grad.new_zeros(input_shape).scatter(
            dim, indices, grad
        )
    },
    samples=lambda rng: [
        ((apart(rng, 3, 9),), {"k": 4, "dim": 1, "largest": True}),
        ((ties(rng, 300, 3),), {"k": 2, "dim": 0, "largest": False}),
        ((apart(rng, 2, 2000),), {"k": 5, "dim": 1, "largest": True}),
        ((apart(rng, 2, 5000),), {"k": 40, "dim": 1, "largest": True}),
    ],
)
def _few(input, k: int, dim: int, largest: bool):
    "(the k largest or smallest along dim in order, where they were); equals as they came."
    length, is_float = input.shape[dim], input.dtype.kind == "f"
    sorts_fast = input.dtype.itemsize < 4 and not is_float  # by counting
    few = k * SPARE > length or not input.size
    if few or sorts_fast or (is_float and not largest and np.isnan(np.min(input))):
        places = np.take(order(input, dim, largest), np.arange(k), dim)
    else:
        rows = np.moveaxis(input, dim, -1)
        places = selected(rows.reshape(-1, length), k, largest).reshape(*rows.shape[:-1], k)
        places = np.moveaxis(places, -1, dim)
    return np.take_along_axis(input, places, dim), places


def selected(rows: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """Where the k foremost of each row are, in order, without sorting the others: they lie in those
    k stretches of the row whose own foremost are."""
    count, length = rows.shape
    size = isqrt(length // k)
    if length % size:  # what is added loses to all, also as it comes last
        short = size - length % size
        rows = np.pad(rows, ((0, 0), (0, short)), constant_values=extreme(rows.dtype, not largest))
    stretches = rows.reshape(count, -1, size)
    best = stretches.max(2) if largest else stretches.min(2)
    chosen = np.sort(order(best, 1, largest)[:, :k], 1)
    places = (chosen[:, :, None] * size + np.arange(size)).reshape(count, -1)
    ranks = order(np.take_along_axis(rows, places, 1), 1, largest)[:, :k]
    return np.take_along_axis(places, ranks, 1)
