"""Freight is what moves between device and host beside kernels that compute for long.

One queue runs copies and kernels one after the other. But dispatches of one pass without a barrier
between run side by side, and the barriers for what a pass uses first all stand before it: so a
kernel that copies begins a pass, one that computes for milliseconds comes next, and the bus is busy
meanwhile. A Move waits for such a carrier; who needs what it moves before has it copied then. How
long a carrier computes was estimated for an H200: what a bus moves meanwhile is measured here.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import ref

from wgtorch.backends.webgpu.gauge import PIECE, Gauge, text
from wgtorch.backends.webgpu.pool import SLACK, STORAGE, Buffer
from wgtorch.config import trace

# Bytes a nanosecond of a product's estimate (product.py), and the workgroups that just keep a bus
# busy: both of an H200; the rates are measured before the first ride. Of writes to the host more
# workgroups would pile up in front of the product's own: with 16 a step takes a tenth longer,
# with 64 a quarter. With rates twice or four times too high it takes 1.14 and 1.51 times as long
# as plain, not 1.03, and with ten times 2.6; with half and a tenth 1.14 and 1.41.
AWAY = 40.0, 8
HOME = 45.0, 32
ALIKE = 0.75, 1.33  # a factor within is that of the same GPU, and the noise of a clock
ALONE = 128  # workgroups where no kernel is beside
LEAST = 1 << 16  # bytes that are worth a place in a pass
MOST = 1 << 28  # bytes of the device that may wait to leave
SHARE = 16  # ... and no more than one in so many bytes that are in use
QUAD = 16  # bytes that a thread moves at a time


class Facts(NamedTuple):
    """What those who measure want to know of a piece that moves."""

    way: str
    nbytes: int
    note: Any  # what `queue.note` said when the move was asked for


class Move:
    """Bytes that are to be elsewhere; so many quads of them are."""

    __slots__ = ("done", "nbytes", "note", "quads", "source")

    def __init__(self, source: Buffer, nbytes: int, note: Any):
        self.source, self.nbytes, self.note = source, nbytes, note
        self.quads, self.done = -(-nbytes // QUAD), 0

    @property
    def left(self) -> int:
        return self.nbytes - QUAD * self.done


class Lane:
    """Moves one way, "d2h" or "h2d", the oldest first. One whose target is dropped drops out."""

    def __init__(self, way: str, rate: float, groups: int):
        self.way, self.rate, self.groups = way, rate, groups
        self.moves: dict[ref[Buffer], Move] = {}  # by targets
        self.drop = lambda target: self.moves.pop(target, None)

    def add(self, source: Buffer, target: Buffer, nbytes: int, note: Any) -> None:
        self.moves[ref(target, self.drop)] = Move(source, nbytes, note)

    def first(self) -> tuple[Buffer, Move] | None:
        for target, move in list(self.moves.items()):
            buffer = target()
            if buffer is not None:
                return buffer, move
        return None

    @property
    def left(self) -> int:
        return sum([move.left for move in list(self.moves.values())])


class Freight:
    def __init__(self, dock: Any, least: int = LEAST, gauge: Any = Gauge):
        self.dock, self.queue, self.gpu, self.least = dock, dock.queue, dock.home.gpu, least
        self.gauge = gauge  # of the rates, until they are known
        self.away, self.home = Lane("d2h", *AWAY), Lane("h2d", *HOME)
        self.carried = self.copied = 0  # bytes, beside a carrier and without one
        self.kernel: Any = None
        self.queue.ride = self.ride

    def takes(self, source: Buffer, target: Buffer, nbytes: int) -> bool:
        """Whether this can be moved by a kernel, and is worth it."""
        blocks = source.block, target.block
        widest = self.gpu.traits.most_binding_bytes - SLACK
        return nbytes >= self.least and all(
            [b.handle and b.handle.usage & STORAGE == STORAGE and b.size <= widest for b in blocks]
        )

    def load(self, lane: Lane, source: Buffer, target: Buffer, nbytes: int) -> None:
        lane.add(source, target, nbytes, self.queue.note())
        most = min(MOST, self.gpu.pool.live.current // SHARE)
        while self.away.left > most:
            self.finish(self.away, *self.away.first())  # type: ignore[misc]

    def near(self, target: Buffer) -> Buffer | None:
        """Where on the device that still is which is to go to this buffer of the host."""
        move = self.away.moves.get(ref(target))
        return None if move is None else move.source

    def settle(self, buffer: Buffer) -> None:
        """What goes to this buffer is there before anything that is recorded from here on; what
        comes from it has left."""
        for lane in (self.away, self.home):
            for target, move in list(lane.moves.items()):
                held = target()
                if held is not None and (held is buffer or move.source is buffer):
                    self.finish(lane, held, move)

    def unload(self) -> None:
        """The same of everything."""
        for lane in (self.away, self.home):
            while first := lane.first():
                self.finish(lane, *first)

    def finish(self, lane: Lane, target: Buffer, move: Move) -> None:
        self.queue.close()
        self.copied += move.left
        self.piece(lane, target, move, move.quads, ALONE)
        self.queue.close()

    def ride(self, nanoseconds: float) -> None:
        """The dispatch that comes next takes so long: what the bus moves meanwhile goes along."""
        if not (self.away.moves or self.home.moves):
            return
        self.queue.close()
        if self.gauge is not None:
            self.measure()
        for lane in (self.away, self.home):
            room = left = int(nanoseconds * lane.rate)
            while left >= self.least and (first := lane.first()):
                target, move = first
                end = min(move.quads, move.done + left // QUAD)
                nbytes = min(move.left, QUAD * (end - move.done))
                left -= nbytes
                self.carried += nbytes
                self.piece(lane, target, move, end, -(-lane.groups * nbytes // room))

    def measure(self) -> None:
        """A bus is as fast one way as the other, so both rates are off by one factor."""
        gauge, self.gauge = self.gauge(self.dock.home), None
        here, there = self.dock.home.take(PIECE), self.dock.pool.take(PIECE)
        slowness, rate = gauge.slowness(), gauge.rate(here, there, self.away.groups)
        factor = slowness * rate / AWAY[0]
        if not ALIKE[0] < factor < ALIKE[1]:
            self.away.rate, self.home.rate = factor * AWAY[0], factor * HOME[0]
        trace(1, "freight", lambda: f"kernels take {slowness:.2f} times as long as an H200's, a"
              f" bus moves {rate:.1f} GB/s: {factor:.2f} times as much beside one")  # fmt: skip

    def piece(self, lane: Lane, target: Buffer, move: Move, end: int, groups: int) -> None:
        if self.kernel is None:
            self.kernel = self.gpu.pipelines.get(text("freight.wgsl"), "freight")
        facts = Facts(lane.way, min(move.left, QUAD * (end - move.done)), move.note)
        blocks, numbers = (move.source.block, target.block), (move.done, end)
        self.queue.beside(self.kernel, blocks, numbers, (groups, 1, 1), facts)
        self.dock.moved[lane.way] += facts.nbytes
        move.done = end
        if end == move.quads:
            lane.drop(ref(target))
