"""Groups: what an index sends to one place, brought together and joined in its order.

Where several elements meet, atomics would join them in an order nobody knows. Here the index is
sorted first (stably), then one thread goes through each group: the result is the same every time,
and the cpu's. It is how rows of floats are added, and all that 64-bit numbers have no atomics for.
"""

from __future__ import annotations

from wgtorch.dtype import int32
from wgtorch.layout import Layout
from wgtorch.op import Facts, Pass
from wgtorch.ops.ordering import LEAST, PART, Sorter
from wgtorch.record import Record

GROUP, MAX_GROUPS = 256, 65535
FEW = 64  # up to here threads look for their like themselves


class Meeting(Record):
    """What meets where: `size` rows of `width` elements, joined by `merge` (WGSL over a and b).

    Row i belongs to the key start(i) + index * key_stride; key k begins at base + k * stride.
    """

    index: Layout
    start: Layout  # of each row
    key_stride: int
    keys: int  # how many there are
    base: Layout  # of each element of a row, in the result
    stride: int
    beside: Layout  # of each element of a row, in the source
    along: Layout  # of each row, in the source
    indices: int  # the size of the dimension that the index is about
    lowest: int
    merge: str
    complaint: str

    @property
    def size(self) -> int:
        return self.index.numel

    @property
    def width(self) -> int:
        return self.base.numel


class Grouper(Sorter):
    """Writes the passes that sort keys which are there already."""

    def __init__(self, facts: Facts, count: int):
        self.count, self.by_threads = count, facts.traits.is_software
        self.width = 8 if self.by_threads else 4
        self.span = max(LEAST, -(-count // 512)) if self.by_threads else PART
        self.parts = -(-count // self.span)
        self.now, self.then = "a", "b"

    @property
    def counters(self) -> tuple[tuple, ...]:
        digits = 1 << self.width
        return ("counts", int32, digits * self.parts), ("totals", int32, digits)


def grouped(facts: Facts, meeting: Meeting) -> list[Pass]:
    """The passes that join a source into the result, group by group."""
    size, count = meeting.size, meeting.size * meeting.width
    if not count:
        return []
    grouper = Grouper(facts, size)
    few = size <= FEW
    temps = ("keys_a", "old_a") if few else ("keys_a", "old_a", "keys_b", "old_b")
    keys = Pass(
        "group_keys.wgsl",
        groups(size),
        (size, meeting.indices, meeting.lowest, meeting.key_stride, meeting.keys),
        ("index",),
        ("keys_a", "old_a"),
        ("elementwise.wgsl",),
        (*((name, int32, size) for name in temps), *(() if few else grouper.counters)),
        places=(("index", meeting.index), ("start", meeting.start)),
        complaint=meeting.complaint,
    )
    digits = [] if few else list(grouper.digits(0, meeting.keys.bit_length()))
    now = grouper.now
    front: tuple[str, ...] = ("elementwise.wgsl",)
    if not few:
        front += (
            f"fn key_of(i: u32) -> u32 {{ return u32(keys_{now}_at(i)); }}",
            f"fn old(i: u32) -> u32 {{ return u32(old_{now}_at(i)); }}",
        )
    join = Pass(
        "join_few.wgsl" if few else "join_groups.wgsl",
        groups(count),
        (count, size, meeting.width, meeting.stride, meeting.keys),
        ("source", "keys_a") if few else ("source", f"keys_{now}", f"old_{now}"),
        front=front,
        places=(
            ("base", meeting.base),
            ("beside", meeting.beside),
            ("along", meeting.along),
        ),
        merge=meeting.merge,
    )
    return [keys, *digits, join]


def groups(count: int) -> tuple[int, int, int]:
    return (min(-(-count // GROUP), MAX_GROUPS), 1, 1)
