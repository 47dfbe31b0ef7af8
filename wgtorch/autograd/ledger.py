"""A Ledger counts the bytes that saved tensors hold, by where they are: each memory once.

What passes through hooks is entered when it is packed and leaves when its slot dies. Slots
without hooks are not entered, so they cost nothing; `saved_tensor_report` finds those, too.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wgtorch.autograd.parameters import is_parameter_memory
from wgtorch.device import Device
from wgtorch.storage import View, memory_of

PLACES = ("device", "host", "disk")
Holding = tuple[str, Any, int]  # (place, what tells this memory from another, bytes)


def holdings(packed: Any, depth: int = 3) -> Iterator[Holding]:
    """The memory that what a pack function returned keeps alive, but for live parameters'.

    An object may tell by a method `holdings()`; of others, containers and attributes are looked
    at. One that changes them later has an attribute `entry`: it is given the Entry to renew.
    """
    if isinstance(packed, View):
        value = memory_of(packed.storage).value
        if not is_parameter_memory(packed):
            yield "host" if value.device.type == "cpu" else "device", id(value), value.nbytes
        return
    kind = type(packed)
    if kind in (str, int, float, bool) or packed is None:
        return
    if kind in (bytes, bytearray, np.ndarray):
        nbytes = packed.nbytes if kind is np.ndarray else len(packed)
        yield "host", id(packed), nbytes
    elif hasattr(kind, "holdings"):
        yield from packed.holdings()
    elif depth:
        for part in parts_of(packed):
            yield from holdings(part, depth - 1)


def parts_of(packed: Any) -> Sequence[Any]:
    """The members of a container, or the attributes of an object."""
    if isinstance(packed, tuple | list | set):
        return list(packed)
    if isinstance(packed, dict):
        return list(packed.values())
    names = getattr(type(packed), "__slots__", ())
    names = (names,) if isinstance(names, str) else names
    parts = [getattr(packed, name, None) for name in names]
    return parts + list(getattr(packed, "__dict__", {}).values())


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
    """What one slot has in a ledger."""

    __slots__ = ("ledger", "things")

    def __init__(self, ledger: Ledger, packed: Any):
        self.ledger, self.things = ledger, list(holdings(packed))
        ledger.packs += 1
        ledger.enter(self.things)

    def renew(self, packed: Any) -> None:
        """What was packed is elsewhere now."""
        self.ledger.gone.append(self.things)
        self.things = list(holdings(packed))
        self.ledger.enter(self.things)

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
