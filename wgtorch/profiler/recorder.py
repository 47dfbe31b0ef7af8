"""The Recorder of what runs: events of each thread, nested as they happened."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

from wgtorch.autograd.stepping import awaited
from wgtorch.profiler.event import FunctionEvent
from wgtorch.profiler.flops import flops_of
from wgtorch.storage import View

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Thread(threading.local):
    """What a thread is in the middle of."""

    def __init__(self) -> None:
        self.top: FunctionEvent | None = None
        self.slot: dict[str, Any] | None = None  # a saved tensor that is packed or unpacked


class Recorder:
    """Takes events while it is the current one; `options` are those of a profile."""

    current: Recorder | None = None

    def __init__(self, shapes: bool = False, memory: bool = False, stacks: bool = False,
                 flops: bool = False, cpu: bool = True):  # fmt: skip
        self.shapes, self.memory, self.stacks, self.flops = shapes, memory, stacks, flops
        self.cpu = cpu
        self.events: list[FunctionEvent] = []
        self.ids = count().__next__
        self.slots = count().__next__
        self.thread = Thread()
        self.restart()
        self.pools: list[Any] = []  # of the GPUs, whose bytes in use are looked at
        self.moving: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.packed: dict[int, dict[str, Any]] = {}  # id of a Packed: what is known of its slot

    def restart(self) -> None:
        """Times count from here."""
        self.zero = time.perf_counter_ns()

    def now(self) -> float:
        return (time.perf_counter_ns() - self.zero) / 1000

    def begin(self, name: str, kind: str, args: tuple = ()) -> FunctionEvent:
        thread = self.thread
        event = FunctionEvent(self.ids(), name, kind, threading.get_native_id(), thread.top)
        if self.shapes and args:
            event.input_shapes = [list(a.layout.shape) if isinstance(a, View) else [] for a in args]
        if self.flops and kind == "op":
            event.flops = flops_of(name, args)
        if self.stacks:
            event.stack = stack()
        if self.memory:
            event.facts["inputs"] = {id(a.storage) for a in args if isinstance(a, View)}
            event.device_memory_usage = -self.in_use()
        thread.top = event
        event.start = self.now()
        return event

    def end(self, event: FunctionEvent, result: Any = None) -> None:
        event.end = self.now()
        self.thread.top = event.cpu_parent
        if event.flops and any(child.flops for child in event.cpu_children):
            event.flops = None  # theirs are the same
        if self.memory:
            event.device_memory_usage += self.in_use()
            known = event.facts.pop("inputs")
            event.cpu_memory_usage = made(result, known)
            inside = sum(child.cpu_memory_usage for child in event.cpu_children)
            event.cpu_memory_usage = max(event.cpu_memory_usage, inside)
        self.events.append(event)

    def in_use(self) -> int:
        return sum([pool.live.current for pool in self.pools])

    def note(self) -> tuple[FunctionEvent | None, dict[str, Any] | None]:
        """What the GPU's work of this moment is for."""
        return self.thread.top, self.thread.slot


def made(result: Any, known: set[int]) -> int:
    """Bytes of cpu storages in a result that were not in its inputs."""
    parts = result if isinstance(result, tuple | list) else (result,)
    storages = {id(t.storage): t.storage for t in parts if isinstance(t, View)}
    return sum(
        storage.value.nbytes
        for key, storage in storages.items()
        if key not in known and storage.value.device.type == "cpu"
    )


def stack(most: int = 32) -> list[str]:
    """Where the user's program is, innermost line first."""
    frame, lines = sys._getframe(2), []
    while frame is not None and len(lines) < most:
        code = frame.f_code
        if not code.co_filename.startswith(OURS):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return lines


class record_function:
    """A part of the program with a name of its own: a context manager, or a decorator.

    Costs next to nothing while nothing is recorded.
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self.events: list[tuple[Recorder, FunctionEvent] | None] = []

    def __enter__(self) -> record_function:
        recorder = Recorder.current
        if recorder is None:
            self.events.append(None)
        else:
            event = recorder.begin(self.name, "user")
            if self.args is not None:
                event.facts["args"] = self.args
            self.events.append((recorder, event))
        return self

    def __exit__(self, *exception: object) -> None:
        if not self.events:
            raise AssertionError("Expected record to be set")
        entered = self.events.pop()
        if entered is not None:
            recorder, event = entered
            recorder.end(event)

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                result = function(*args, **kwargs)
            if hasattr(result, "__await__"):
                return awaited(result, lambda: record_function(self.name, self.args))
            return result

        return run
