"""A Ledger counts the bytes that saved tensors hold, by where they are: each memory once.

What passes through hooks is entered when it is packed and leaves when its slot dies. Slots
without hooks are not entered, so they cost nothing; `saved_tensor_report` finds those, too.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

from wgtorch.autograd.contents import Holding, holdings
from wgtorch.device import Device

PLACES = ("device", "host", "disk")


class Ledger:
    """The accounts of one device: `peak` is since the start, or since `reset_peak`."""

    def __init__(self) -> None:
        self.held: dict[Any, list] = {}  # key -> [how many slots hold it, place, bytes]
        self.gone: deque[Sequence[Holding]] = deque()  # left by slots that died
        self.current = dict.fromkeys(PLACES, 0)
        self.peak = dict.fromkeys(PLACES, 0)
        self.packs = self.unpacks = 0
        self.lock = threading.RLock()

    def enter(self, things: Sequence[Holding]) -> None:
        """One more slot holds these; `gone.append(things)` takes them out again."""
        with self.lock:
            self.settle()  # before an id can come back as another's
            for place, key, nbytes in things:
                entry = self.held.get(key)
                if entry is not None:
                    entry[0] += 1
                    continue
                self.held[key] = [1, place, nbytes]
                self.current[place] += nbytes
                if self.current[place] > self.peak[place]:
                    self.peak[place] = self.current[place]

    def settle(self) -> None:
        while self.gone:
            for _, key, _ in self.gone.popleft():
                entry = self.held[key]
                entry[0] -= 1
                if not entry[0]:
                    self.current[entry[1]] -= entry[2]
                    del self.held[key]

    def stats(self) -> dict[str, int]:
        """In the words of `memory_stats`."""
        with self.lock:
            self.settle()
            counts = {}
            for place in PLACES:
                counts[f"saved_tensors.{place}_bytes.current"] = self.current[place]
                counts[f"saved_tensors.{place}_bytes.peak"] = self.peak[place]
            counts["saved_tensors.packs.total"] = self.packs
            counts["saved_tensors.unpacks.total"] = self.unpacks
            return counts

    def reset_peak(self) -> None:
        with self.lock:
            self.settle()
            self.peak = dict(self.current)


class Entry:
    """What one slot has in a ledger; written anew when a part of what was packed has moved."""

    __slots__ = ("__weakref__", "ledger", "slot", "things")

    def __init__(self, ledger: Ledger, slot: Any):
        movers: list[Any] = []
        self.ledger, self.things = ledger, list(holdings(slot.packed, movers))
        ledger.packs += 1
        ledger.enter(self.things)
        if movers:
            self.slot = weakref.ref(slot)
            self.renew()  # from another thread they may have moved just now

    def renew(self) -> None:
        slot = self.slot()
        if slot is None:
            return
        movers: list[Any] = []
        with self.ledger.lock:  # what dies meanwhile dies after it
            list(holdings(slot.packed, movers))
            for mover in movers:
                if all(reference() is not self for reference in mover.watchers):
                    mover.watchers.append(weakref.ref(self))
            things = list(holdings(slot.packed, movers))
            self.ledger.gone.append(self.things)
            self.things = things
            self.ledger.enter(things)

    def __del__(self) -> None:  # touches numbers only, nothing of a GPU
        if hasattr(self, "things"):
            self.ledger.gone.append(self.things)


LEDGERS: dict[Device, Ledger] = {}


def ledger_of(device: Device) -> Ledger:
    """That of the device whose tensors are saved, wherever they wait; within a transform, of the
    device that it is about."""
    while device.level:
        device = device.root  # type: ignore[attr-defined]
    known = LEDGERS.get(device)
    return LEDGERS.setdefault(device, Ledger()) if known is None else known
