"""Tallies: sums of what meets in few places, which workgroups keep in their own memory.

Threads that meet in the memory of a GPU wait for each other: 16 million floats into a thousand
places took an H200 170 ms. So each workgroup adds up its share by itself, in copies where there is
room. Either the places are a row of the result, which the workgroup has to itself, or what they all
found is joined at the end. Integers come out the same every time.
"""

from __future__ import annotations

from math import prod
from typing import Any

from wgtorch.dtype import DType, bool_, float32, int32, int64
from wgtorch.layout import Layout
from wgtorch.op import Facts, Pass
from wgtorch.record import replace

GROUP, MAX_GROUPS = 256, 65535
WORDS = 4096  # of a workgroup's memory, where that is enough: several workgroups share a core
MOST_PARTS = 1024
CROWD, MANY = 16, 1 << 16  # so many to a place and so many in all are worth two passes
FEW_ROWS, SPARSE = 64, 4  # fewer workgroups leave a GPU idle; places to an element, at most

OF_ALL = (
    "fn cell(i: u32, row: u32) -> u32 { return base(i) + row * launch.stride; }",
    """fn leave(unit: u32, place: u32, total: source_type) {
    set_partials(place * launch.units + unit, total);
}""",
)
OF_A_ROW = (
    "fn cell(i: u32, row: u32) -> u32 { return row; }",
    """fn leave(unit: u32, place: u32, total: source_type) {
    let here = base(unit * launch.chunk) + place * launch.stride;
    set_result(here, merged(result_at(here), total));
}""",
)


def tallied(facts: Facts, scatter: Pass, base: Layout, dim: int) -> list[Pass]:
    """What does the same as one pass of scatter.wgsl that adds along `dim`: itself, if it is best.

    `base` is where the elements would be if each index were 0.
    """
    dtype, places, count = facts.out_dtypes[0], facts.out.numel, base.numel
    is_kept = dtype is not bool_ and (dtype.itemsize < 8 or dtype is int64)
    if facts.traits.is_software or not is_kept:  # there, barriers are dear
        return [scatter]
    if places <= cells(facts, places) and count >= max(MANY, CROWD * places):
        return by_parts(facts, scatter, count)
    rows, size = prod(base.shape[:dim]), (facts.out.shape or (1,))[dim]
    length, is_last = count // rows, dim == len(facts.out.shape) - 1
    is_full = rows >= FEW_ROWS and length >= max(GROUP, size // SPARSE)
    if is_last and is_full and size <= cells(facts, size):
        return [kept(facts, scatter, size, rows, length, OF_A_ROW)]
    return [scatter]


def by_parts(facts: Facts, scatter: Pass, count: int) -> list[Pass]:
    """Each workgroup adds up a part, for all places."""
    dtype, places = facts.out_dtypes[0], facts.out.numel
    parts = max(1, min(MOST_PARTS, count // max(WORDS, 4 * places)))
    partials = ("partials", summed(dtype), places * parts)
    first = kept(facts, scatter, places, parts, -(-count // parts), OF_ALL,
                 writes=("partials",), temps=(partials,))  # fmt: skip
    last = Pass("tally_parts.wgsl", (places, 1, 1), (places, parts), ("partials",),
                merge=scatter.merge)  # fmt: skip
    return [first, last]


def kept(facts: Facts, scatter: Pass, places: int, units: int, chunk: int, front: tuple[str, ...],
         **more: Any) -> Pass:  # fmt: skip
    """So many units of so many elements, each of a workgroup that keeps so many places."""
    most = cells(facts, places)
    copies = 1 << (min(most // places, GROUP).bit_length() - 1)
    words = summed(facts.out_dtypes[0]).itemsize // 4
    return replace(
        scatter,
        shader="tally.wgsl",
        groups=(min(units, MAX_GROUPS), 1, 1),
        numbers=(*scatter.numbers, places, copies, units, chunk),
        reads=("source", "index"),
        front=(f"const CELLS = {most}u;", f"const WORDS = {words}u;", *front),
        **more,
    )


def cells(facts: Facts, places: int) -> int:
    """How many sums a workgroup keeps at most, if it has so many places."""
    words = facts.out_dtypes[0].itemsize // 8 + 1
    room = facts.traits.workgroup_bytes // 4
    return (WORDS if places * words <= WORDS else room) // words


def summed(dtype: DType) -> DType:
    """What sums of a dtype are kept in."""
    if dtype.is_floating_point:
        return float32
    return dtype if dtype is int64 else int32
