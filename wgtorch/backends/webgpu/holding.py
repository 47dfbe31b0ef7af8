"""Holdings are what promises hold: ops and memory, both bounded.

A promise holds its operands until it is fulfilled: a number read out of a large tensor would keep
all of that. Promises that stand on large operands are noted; when what they alone hold exceeds a
share of what is live, those that give back more than their results take are fulfilled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgtorch.backends.webgpu.fusion import HEAVY, PUT_OFF, Load, Promise
from wgtorch.backends.webgpu.takeover import dies
from wgtorch.config import MAX_FUSED, MAX_HELD
from wgtorch.storage import Value
from wgtorch.turns import turn

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU

LARGE = 1 << 20  # bytes of an operand from which the promises that hold it are noted
FLOOR = 1 << 26  # bytes that promises may hold, however little is live


class Holdings:
    def __init__(self, home: WebGPU):
        self.home = home
        self.noted: list[Any] = []  # weak references to what was promised, oldest first
        self.since = 0  # bytes of large operands met since the last look
        self.reserved = 0  # what the pool had then
        self.looking = False

    def grown(self, value: Value, promise: Promise) -> None:
        """Of a new promise that stands on many ops, a launch put off, or large operands."""
        if MAX_FUSED == 1:
            self.home.fill(value)
            return
        if promise.size % PUT_OFF >= MAX_FUSED:
            self.shorten(promise)
        if promise.size % HEAVY >= PUT_OFF:
            self.home.deferrals.standing.append(promise.target)
        if promise.size >= HEAVY:
            self.note(promise)

    def shorten(self, promise: Promise) -> None:
        """Has operands that stand on many ops made true."""
        size, args = 1, list(promise.args)
        for place, arg in enumerate(args):
            if type(arg) is Promise and arg.size % PUT_OFF >= MAX_FUSED:
                args[place] = self.home.load(arg)  # only now: what it was made of may be gone
            size += getattr(args[place], "size", 0)
        promise.args, promise.size = args, size

    def note(self, promise: Promise) -> None:
        """Of a promise that stands on large operands."""
        self.noted.append(promise.target)
        for arg in promise.args:
            if type(arg) is Load and arg.size >= HEAVY and not arg.noted:
                arg.noted = True  # once: ops on an operand that stays need no look each
                self.since += arg.buffer.block.leased
        if self.since >= self.bound or len(self.noted) > 1000:
            self.look()

    @property
    def bound(self) -> int:
        return max(FLOOR, self.home.gpu.pool.live.current * MAX_HELD // 100)

    def press(self) -> bool:
        """Looks if memory was reserved since the last time; whether it did."""
        grown = not self.looking and self.home.gpu.pool.reserved > self.reserved
        if grown:
            self.look()
        return grown

    def look(self) -> None:
        """Fulfils promises, the oldest first, until the rest hold no more than they may."""
        if self.looking:
            return
        with turn:
            self.looking = True
            try:
                self._look()
            finally:
                self.looking, self.since = False, 0
                self.reserved = self.home.gpu.pool.reserved

    def _look(self) -> None:
        noted: list[tuple[Any, int]] = []
        total, seen, bound = 0, set(), self.bound
        for target in self.noted:
            value = target()
            if value is not None and type(value.promise) is Promise:
                gain = gained(value, seen)
                total += max(0, gain)
                noted.append((target, gain))
        self.noted = [target for target, _ in noted]
        for target, gain in noted:
            if total <= bound:
                break
            value = target()
            if gain > 0 and value is not None:
                self.home.fill(value)
                total -= gain


def gained(value: Value, seen: set[int]) -> int:
    """Bytes that come free when a value is fulfilled, less those that it then takes. What promises
    share is walked and counted once."""
    gain, steps = -value.nbytes, [value.promise]
    seen.add(id(value.promise))
    for step in steps:  # grows as it is walked
        for arg in step.args:
            if type(arg) is Promise:
                if id(arg) not in seen and arg.filled is None:
                    seen.add(id(arg))
                    steps.append(arg)
            elif type(arg) is Load and id(arg) not in seen and dies(arg):
                seen.add(id(arg))
                gain += arg.buffer.block.leased
    return gain
