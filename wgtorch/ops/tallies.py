"""Tallies: sums of what meets in few places, which workgroups keep in their own memory.

Threads that meet in the memory of a GPU wait for each other: 16 million floats into a thousand
places took an H200 170 ms. So each workgroup adds up its share by itself, in copies where there is
room, and what they found is joined at the end. Integers come out the same every time.
"""

from __future__ import annotations

from dataclasses import replace

from wgtorch.dtype import DType, bool_, float32, int32, int64
from wgtorch.op import Facts, Pass

WORDS = 4096  # of a workgroup's memory, where that is enough: several workgroups share a core
MOST_PARTS = 1024
CROWD, MANY = 16, 1 << 16  # so many to a place and so many in all are worth two passes


def cells(facts: Facts) -> int:
    """How many places a workgroup keeps at most."""
    words = facts.out_dtypes[0].itemsize // 8 + 1
    room = facts.traits.workgroup_bytes // 4
    return (WORDS if facts.out.numel * words <= WORDS else room) // words


def is_tallied(facts: Facts, count: int) -> bool:
    """Whether `count` sums are best made so."""
    dtype, places = facts.out_dtypes[0], facts.out.numel
    return (
        not facts.traits.is_software  # there, barriers are dear
        and dtype is not bool_
        and (dtype.itemsize < 8 or dtype is int64)
        and places <= cells(facts)
        and count >= max(MANY, CROWD * places)
    )


def tallied(facts: Facts, scatter: Pass) -> list[Pass]:
    """The passes that do what a pass of scatter.wgsl does."""
    count, places, most = int(scatter.numbers[0]), facts.out.numel, cells(facts)
    copies = 1 << (min(most // places, 256).bit_length() - 1)
    parts = max(1, min(MOST_PARTS, count // max(WORDS, 4 * places)))
    kind = summed(facts.out_dtypes[0])
    wide = f"const CELLS = {most}u;", f"const WORDS = {kind.itemsize // 4}u;"
    return [
        replace(
            scatter,
            shader="tally.wgsl",
            groups=(parts, 1, 1),
            numbers=(*scatter.numbers, places, copies, parts),
            reads=("source", "index"),
            writes=("partials",),
            front=wide,
            temps=(("partials", kind, places * parts),),
        ),
        Pass("tally_parts.wgsl", (places, 1, 1), (places, parts), ("partials",),
             merge=scatter.merge),
    ]  # fmt: skip


def summed(dtype: DType) -> DType:
    """What sums of a dtype are kept in."""
    if dtype.is_floating_point:
        return float32
    return dtype if dtype is int64 else int32
