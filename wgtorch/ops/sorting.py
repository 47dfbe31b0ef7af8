"""Ops that put elements in order along one dim. Stable, and NaN is above all.

On a GPU, keys (words that order as the values do) are moved to their places digit by digit, from
the lowest; every pass keeps the order of equals. Rows are the last keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wgtorch.dtype import (
    bfloat16,
    bool_,
    float16,
    int8,
    int16,
    int32,
    int64,
    uint8,
)  # fmt: skip
from wgtorch.layout import Layout, wrap_dim
from wgtorch.op import Facts, Pass, Structured, declare
from wgtorch.ops.samples import apart, integers

MAX_GROUPS = 65535
PART = 1024  # neighbours that a workgroup moves at once
# Which bits of a key differ, and what is added to it so that they do (mod 2**32)
BITS = {bool_: (0, 1), uint8: (0, 8), int8: (0, 8), int16: (0, 16), float16: (13, 32),
        bfloat16: (16, 32)}  # fmt: skip
BIAS = {bool_: 1 << 31, uint8: 1 << 31, int8: (1 << 31) + (1 << 7), int16: (1 << 31) + (1 << 15)}


class Sorter:
    """Writes the passes of one sort."""

    def __init__(self, facts: Facts):
        layout, dtype = facts.layouts[0], facts.dtypes[0]
        assert layout is not None and dtype is not None
        dim = wrap_dim(facts.attrs["dim"], len(layout.shape))
        self.input, self.into = last(layout, dim), last(facts.out, dim)
        self.count = layout.numel
        self.length = layout.shape[dim] if layout.shape else 1
        self.dtype, self.descending = dtype, facts.attrs["descending"]
        self.by_threads = facts.traits.is_software
        self.width = 8 if self.by_threads else 4  # bits of a digit
        if self.by_threads:
            self.parts = min(512, max(1, self.count // 1024))
            self.span = -(-self.count // self.parts)
        else:
            self.parts, self.span = -(-self.count // PART), PART
        self.now, self.then = "a", "b"  # which of the two sets of buffers is filled
        self.started = False

    def passes(self) -> Iterator[Pass]:
        digits = 1 << self.width
        yield from self.keys(0, False, (
            ("keys_a", int32, self.count), ("old_a", int32, self.count),
            ("keys_b", int32, self.count), ("old_b", int32, self.count),
            ("counts", int32, digits * self.parts), ("totals", int32, digits),
        ))  # fmt: skip
        low, high = BITS.get(self.dtype, (0, 32))
        yield from self.digits(low, high)
        if self.dtype.itemsize == 8:
            yield from self.keys(1, False)
            yield from self.digits(0, 32)
        rows = self.count // self.length
        if rows > 1:
            yield from self.keys(0, True)
            yield from self.digits(0, (rows - 1).bit_length())
        yield self.finish()

    def keys(self, word: int, by_row: bool, temps: tuple = ()) -> Iterator[Pass]:
        """Keys of one kind, in the order reached so far."""
        now, first = self.now, not self.started
        self.started = True
        front = [
            f"const FIRST = {said(first)};",
            f"const BY_ROW = {said(by_row)};",
            f"fn set_key(i: u32, key: u32) {{ set_keys_{now}(i, bitcast<i32>(key)); }}",
        ]
        if first:
            front.append("fn old(i: u32) -> u32 { return i; }")
            front.append(f"fn set_old(i: u32, place: u32) {{ set_old_{now}(i, i32(place)); }}")
        else:
            front.append(f"fn old(i: u32) -> u32 {{ return u32(old_{now}_at(i)); }}")
            front.append("fn set_old(i: u32, place: u32) {}")
        flip = 0xFFFFFFFF if self.descending else 0
        numbers = (self.count, word, flip, BIAS.get(self.dtype, 0), self.length)
        yield Pass(
            "sort_keys.wgsl",
            groups(self.count),
            numbers,
            ("input",) if first else ("input", f"old_{now}"),
            (f"keys_{now}", f"old_{now}") if first else (f"keys_{now}",),
            tuple(front),
            temps,
            places=(("input", self.input),),
        )

    def digits(self, low: int, high: int) -> Iterator[Pass]:
        """Moves all by the bits from `low` to `high`."""
        for shift in range(low, high, self.width):
            yield from self.digit(shift)
            self.now, self.then = self.then, self.now

    def digit(self, shift: int) -> Iterator[Pass]:
        now, then = self.now, self.then
        kind = "threads" if self.by_threads else "groups"
        parts = (min(self.parts, MAX_GROUPS), 1, 1)
        scans = (1 << self.width, 1, 1)
        if self.by_threads:
            parts, scans = (-(-self.parts // 16), 1, 1), (-(-(1 << self.width) // 16), 1, 1)
        digits = f"const DIGITS = {1 << self.width}u;"
        key_of = f"fn key_of(i: u32) -> u32 {{ return bitcast<u32>(keys_{now}_at(i)); }}"
        numbers = (self.count, self.parts, self.span, shift)
        yield Pass(f"sort_count_{kind}.wgsl", parts, numbers, (f"keys_{now}",), ("counts",),
                   (digits, key_of))  # fmt: skip
        yield Pass(f"sort_scan_{kind}.wgsl", scans, (self.parts,), (), ("counts", "totals"),
                   (digits,))  # fmt: skip
        front = (
            digits,
            key_of,
            f"fn old(i: u32) -> u32 {{ return u32(old_{now}_at(i)); }}",
            f"fn set_key(i: u32, key: u32) {{ set_keys_{then}(i, bitcast<i32>(key)); }}",
            f"fn set_old(i: u32, place: u32) {{ set_old_{then}(i, i32(place)); }}",
        )
        reads = (f"keys_{now}", f"old_{now}", "totals")
        writes = (f"keys_{then}", f"old_{then}", "counts")
        yield Pass(f"sort_move_{kind}.wgsl", parts, numbers, reads, writes, front)

    def finish(self) -> Pass:
        old = f"fn old(i: u32) -> u32 {{ return u32(old_{self.now}_at(i)); }}"
        return Pass(
            "sort_finish.wgsl",
            groups(self.count),
            (self.count, self.length),
            ("input", f"old_{self.now}"),
            ("values", "indices"),
            (old,),
            places=(("input", self.input), ("into", self.into)),
        )


def said(value: bool) -> str:
    return str(value).lower()


def groups(count: int) -> tuple[int, int, int]:
    return (min(-(-count // 64), MAX_GROUPS), 1, 1)


def last(layout: Layout, dim: int) -> Layout:
    """With `dim` innermost."""
    rank = len(layout.shape)
    return layout.permute((*[d for d in range(rank) if d != dim], dim)) if rank else layout


FEW = 32  # what a thread can keep in order
LARGE = {True: 1024, False: 2048}  # what a workgroup can, by whether values have two words


def sort_plan(facts: Facts) -> list[Pass]:
    if not facts.out.numel:
        return []
    dim = wrap_dim(facts.attrs["dim"], len(facts.out.shape))
    length = facts.out.shape[dim] if facts.out.shape else 1
    dtype, descending = facts.dtypes[0], facts.attrs["descending"]
    assert dtype is not None and facts.layouts[0] is not None
    if length <= FEW:
        return few(facts, dim, length, descending)
    wide = dtype.itemsize == 8
    size = 1 << (length - 1).bit_length()
    fits = size * (12 if wide else 8) <= facts.traits.workgroup_bytes
    if length > LARGE[wide] or not fits or facts.traits.is_software:  # there, barriers are dear
        return list(Sorter(facts).passes())
    rows = facts.out.numel // length
    front = (f"const SIZE = {size}u;", f"const WIDE = {said(wide)};")
    numbers = (rows, length, 0xFFFFFFFF if descending else 0)
    places = (("input", last(facts.layouts[0], dim)), ("into", last(facts.out, dim)))
    return [Pass("sort_rows.wgsl", (min(rows, MAX_GROUPS), 1, 1), numbers, ("input",),
                 ("values", "indices"), front, places=places)]  # fmt: skip


def few(facts: Facts, dim: int, count: int, largest: bool) -> list[Pass]:
    """The first `count` <= FEW along `dim`, in order: every thread keeps those of its part of a
    row, then fewer threads those of what these kept, until one has them all."""
    layout, dtype = facts.layouts[0], facts.dtypes[0]
    assert layout is not None and dtype is not None
    whole = layout.shape[dim] if layout.shape else 1
    rows, wide, software = layout.numel // whole, dtype.itemsize == 8, facts.traits.is_software
    lanes = min((2048 if software else 1 << 16) // rows, whole // max(64, 4 * count))
    length, lanes, passes = whole, max(1, lanes), []
    reads: tuple[str, ...] = ("input",)
    source = seen(wide)
    flip = 0xFFFFFFFF if largest else 0
    while True:
        step = 1 if software or lanes == 1 else lanes
        numbers = (rows, length, lanes, -(-length // lanes) if step == 1 else 1, step, flip, whole)
        front = (f"const KEEP = {count}u;", f"const WIDE = {said(wide)};", source)
        if lanes == 1:
            places = (("input", last(layout, dim)), ("into", last(facts.out, dim)))
            passes.append(Pass("best_few.wgsl", groups(rows), numbers, ("input", *reads[1:]),
                               ("values", "indices"), (*front, RESULT), places=places))  # fmt: skip
            return passes
        names = tuple([f"{word}{len(passes)}" for word in ("keys", "lows", "places")])
        temps = tuple([(name, int32, rows * lanes * count) for name in names])
        passes.append(Pass("best_few.wgsl", groups(rows * lanes), numbers, reads, names,
                           (*front, kept_as(*names)), temps,
                           places=(("input", last(layout, dim)),)))  # fmt: skip
        reads, source = ("input", *names), seen_again(*names)
        length = lanes * count
        lanes = max(1, length // max(64, 4 * count))


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


def kept_as(keys: str, lows: str, places: str) -> str:
    return (
        "fn leave(row: u32, lane: u32, n: u32, found: Found) {\n"
        "    let at = (row * launch.lanes + lane) * KEEP + n;\n"
        f"    set_{keys}(at, bitcast<i32>(found.key));\n"
        f"    set_{lows}(at, bitcast<i32>(found.low));\n"
        f"    set_{places}(at, bitcast<i32>(found.place));\n}}"
    )


RESULT = """fn leave(row: u32, lane: u32, n: u32, found: Found) {
    let to = into(row * KEEP + n);
    set_values(to, input_nth(row * launch.whole + found.place));
    set_indices(to, indices_of(i32(found.place)));
}"""


def order(input: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """The stable order; from the largest down, equals still in their own order."""
    if not descending:
        return np.argsort(input, axis=dim, kind="stable")
    back = np.argsort(np.flip(input, dim), axis=dim, kind="stable")
    return input.shape[dim] - 1 - np.flip(back, dim)


def ties(rng, *shape):
    return integers(rng, *shape).astype(np.float32)


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


# The first few


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
    ],
)
def _few(input, k: int, dim: int, largest: bool):
    "(the k <= 32 largest or smallest along dim in order, where they were); equals as they came."
    places = np.take(order(input, dim, largest), np.arange(k), dim)
    return np.take_along_axis(input, places, dim), places
