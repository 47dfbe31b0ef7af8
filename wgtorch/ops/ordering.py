"""Orders: the passes that sort whole rows on a GPU, stably, with NaN above all.

Keys (words that order as the values do) are moved to their places digit by digit, from the lowest;
every pass keeps the order of equals. Rows that fit in the memory of a workgroup stay there all the
while; else all rows are sorted at once, and which row a key is of is the last key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wgtorch.dtype import bfloat16, bool_, float16, int8, int16, int32, uint8
from wgtorch.layout import Layout
from wgtorch.op import Facts, Pass

MAX_GROUPS = 65535
ITEMS = 8  # neighbours that a thread moves at once
PART = 256 * ITEMS  # and a workgroup
LEAST = 1024  # and a thread, where threads move all
# Which bits of a key differ, and what is added to it so that they do (mod 2**32)
BITS = {bool_: (0, 1), uint8: (0, 8), int8: (0, 8), int16: (0, 16), float16: (13, 32),
        bfloat16: (16, 32)}  # fmt: skip
BIAS = {bool_: 1 << 31, uint8: 1 << 31, int8: (1 << 31) + (1 << 7), int16: (1 << 31) + (1 << 15)}


def ordered(facts: Facts, dim: int, descending: bool, keep: int) -> list[Pass]:
    """The first `keep` of each row along `dim`."""
    dtype = facts.dtypes[0]
    assert dtype is not None and facts.layouts[0] is not None
    shape = facts.layouts[0].shape
    length = shape[dim] if shape else 1
    rows, wide = facts.out.numel // keep, dtype.itemsize == 8
    shader, front = in_a_workgroup(length, wide, facts.traits.workgroup_bytes)
    if not shader or facts.traits.is_software:  # there, barriers are dear
        return list(Sorter(facts, dim, descending, keep).passes())
    numbers = (rows, length, 0xFFFFFFFF if descending else 0, keep)
    places = (("input", last(facts.layouts[0], dim)), ("into", last(facts.out, dim)))
    return [Pass(shader, (min(rows, MAX_GROUPS), 1, 1), numbers, ("input",),
                 ("values", "indices"), (*front, f"const WIDE = {said(wide)};"),
                 places=places)]  # fmt: skip


def in_a_workgroup(length: int, wide: bool, memory: int) -> tuple[str, tuple[str, ...]]:
    """(the shader that sorts rows so, "" where they are too long; what stands in front)."""
    size = 1 << (length - 1).bit_length()
    if length <= NETWORK and size * (12 if wide else 8) <= memory:
        return "sort_rows.wgsl", (f"const SIZE = {size}u;", "network.wgsl")
    items = max(4, size // 256)
    if items > 16 or 4 * (max(9 * 256, items * 264) + 512) + 64 > memory:
        return "", ()
    return "sort_rows_digits.wgsl", (f"const ITEMS = {items}u;", "ranking.wgsl")


NETWORK = 1024  # up to here, comparing takes fewer steps than moving by digits


class Sorter:
    """Writes the passes of one sort."""

    def __init__(self, facts: Facts, dim: int, descending: bool, keep: int):
        layout, dtype = facts.layouts[0], facts.dtypes[0]
        assert layout is not None and dtype is not None
        self.input, self.into = last(layout, dim), last(facts.out, dim)
        self.count, self.keep = layout.numel, keep
        self.length = layout.shape[dim] if layout.shape else 1
        self.dtype, self.descending = dtype, descending
        self.by_threads = facts.traits.is_software
        self.width = 8 if self.by_threads else 4  # bits of a digit
        if self.by_threads:
            self.parts = min(512, max(1, self.count // LEAST))
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
        move = (digits,) if self.by_threads else (f"const ITEMS = {ITEMS}u;", "ranking.wgsl")
        key_of = f"fn key_of(i: u32) -> u32 {{ return bitcast<u32>(keys_{now}_at(i)); }}"
        numbers = (self.count, self.parts, self.span, shift)
        yield Pass(f"sort_count_{kind}.wgsl", parts, numbers, (f"keys_{now}",), ("counts",),
                   (digits, key_of))  # fmt: skip
        yield Pass(f"sort_scan_{kind}.wgsl", scans, (self.parts,), (), ("counts", "totals"),
                   (digits,))  # fmt: skip
        front = (
            *move,
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
        count = self.into.numel
        return Pass(
            "sort_finish.wgsl",
            groups(count),
            (count, self.length, self.keep),
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


def order(input: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """The stable order; from the largest down, equals still in their own order."""
    if not descending:
        return np.argsort(input, axis=dim, kind="stable")
    back = np.argsort(np.flip(input, dim), axis=dim, kind="stable")
    return input.shape[dim] - 1 - np.flip(back, dim)


def extreme(kind: np.dtype, largest: bool) -> Any:
    """The largest or smallest number of a dtype."""
    if kind.kind == "f":
        return np.inf if largest else -np.inf
    return np.iinfo(kind).max if largest else np.iinfo(kind).min
