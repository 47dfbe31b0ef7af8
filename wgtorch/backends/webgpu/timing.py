"""A Timer measures on the GPU when each kernel and each copy ran.

While it is on, every dispatch is a pass of its own whose begin and end leave a timestamp (those
that run side by side share one), and copies stand between two empty passes that do. Where the
adapter has no timestamps, each of them is waited for, and the host's clock counts. A queue that is
not timed pays nothing: the timer takes the place of the queue's methods, and gives it back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import wgpu

from wgtorch.backends.webgpu.pool import Buffer

PLACES = 4096  # of a query set; the most WebGPU allows


class Span(NamedTuple):
    """Something the GPU did, in nanoseconds of `time.perf_counter_ns`."""

    kind: str  # kernel, d2h, h2d, copy or clear
    name: str
    nbytes: int  # that were copied; 0 of a kernel
    begin: int
    end: int
    note: Any  # what the timer's owner said when this was recorded


class Page:
    """A query set, filled from the front, and what its pairs of places stand for."""

    def __init__(self, device: wgpu.GPUDevice):
        self.queries = device.create_query_set(type="timestamp", count=PLACES)
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        self.target = device.create_buffer(size=8 * PLACES, usage=usage)
        self.facts: list[list[tuple]] = []

    @property
    def is_full(self) -> bool:
        return 2 * len(self.facts) >= PLACES

    def take(self, *facts: tuple) -> int:
        self.facts.append([*facts])
        return 2 * len(self.facts) - 2


class Timer:
    """`note()` is asked at each dispatch and copy; its answer comes back with the Span."""

    METHODS = ("dispatch", "beside", "copy", "clear", "open", "note")

    def __init__(self, home: Any, note: Callable[[], Any] = lambda: None, exact: bool = True):
        self.home, self.queue, self.note = home, home.queue, note
        self.has_clock = exact and home.gpu.traits.timestamps
        self.pages: list[Page] = []
        self.spans: list[Span] = []  # of the host's clock
        self.facts: tuple = ()  # of the pass about to be opened
        self.offset = self.period = 0.0
        self.before: dict[str, Any] = dict.fromkeys(self.METHODS)

    def start(self) -> None:
        queue = self.queue
        queue.flush()
        if self.has_clock:
            self.period = queue.tick()
            self.offset = self._difference()
        self.before = {name: vars(queue).get(name) for name in self.METHODS}
        for name in self.METHODS:
            if name != "open" or self.has_clock:
                setattr(queue, name, getattr(self, name))

    def stop(self) -> list[Span]:
        """What ran since the start, in the order it was recorded. Waits for it."""
        queue = self.queue
        queue.close()
        for name, before in self.before.items():
            queue.__dict__.pop(name, None)
            if before is not None:
                setattr(queue, name, before)
        spans, self.spans = self.spans, []
        for page in self.pages:
            if page.facts:
                spans += self._read(page)
        self.pages.clear()
        return spans

    # In place of the queue's methods

    def dispatch(
        self, kernel: Any, blocks: Any, numbers: tuple, groups: Any, nanoseconds: float = 0.0
    ) -> None:
        if nanoseconds:
            self.queue.ride(nanoseconds)
        self.facts = "kernel", kernel.label, 0, self.note()
        if not self.has_clock:
            self._clocked("dispatch", kernel, blocks, numbers, groups)
            return
        self._joins()
        self._really("dispatch", kernel, blocks, numbers, groups)
        self.queue.close()

    def beside(self, kernel: Any, blocks: Any, numbers: tuple, groups: Any, facts: Any) -> None:
        way, nbytes, note = facts
        self.facts = way, f"beside {way}", nbytes, note or self.note()
        if not self.has_clock:
            self._clocked("beside", kernel, blocks, numbers, groups, facts)
            return
        self._joins()
        self._really("beside", kernel, blocks, numbers, groups, facts)

    def _joins(self) -> None:
        """A pass that is open holds what runs beside this: they share its times."""
        if self.queue.compute is not None:
            self.pages[-1].facts[-1].append(self.facts)

    def copy(self, source: Buffer, target: Buffer, nbytes: int) -> None:
        usages = [b.block.handle.usage & wgpu.BufferUsage.MAP_READ for b in (source, target)]
        kind = "d2h" if usages[1] else "h2d" if usages[0] else "copy"
        self._between("copy", (kind, f"copy {kind}", nbytes), source, target, nbytes)

    def clear(self, buffer: Buffer) -> None:
        self._between("clear", ("clear", "clear", 0), buffer)

    def open(self) -> None:
        page = self._page()
        place = page.take(self.facts)
        self.queue.open_timed(page.queries, place, place + 1)

    def _between(self, work: str, facts: tuple, *args: Any) -> None:
        facts = *facts, self.note()
        if not self.has_clock:
            self.facts = facts
            self._clocked(work, *args)
            return
        queue, page = self.queue, self._page()
        place = page.take(facts)
        queue.close()
        queue.open_timed(page.queries, None, place)
        queue.close()
        self._really(work, *args)
        queue.open_timed(page.queries, place + 1, None)
        queue.close()

    def _clocked(self, work: str, *args: Any) -> None:
        facts, queue = self.facts, self.queue
        queue.flush()
        queue.wait()
        begin = time.perf_counter_ns()
        self._really(work, *args)
        queue.flush()
        queue.wait()
        kind, name, nbytes, note = facts
        self.spans.append(Span(kind, name, nbytes, begin, time.perf_counter_ns(), note))

    def _really(self, work: str, *args: Any) -> None:
        """The method that the timer stands in front of."""
        before = self.before[work]
        if before is not None:
            before(*args)
        else:
            getattr(type(self.queue), work)(self.queue, *args)

    # Times

    def _page(self) -> Page:
        if not self.pages or self.pages[-1].is_full:
            self.pages.append(Page(self.queue.device))
        return self.pages[-1]

    def _difference(self) -> float:
        """The host's clock less the GPU's, both in nanoseconds: of three tries the closest."""
        queue, tries = self.queue, []
        for _ in range(3):
            page = Page(queue.device)
            queue.wait()
            before = time.perf_counter_ns()
            queue.open_timed(page.queries, page.take(), 1)
            queue.waiting += 1
            queue.flush()
            queue.wait()
            after = time.perf_counter_ns()
            ticks = self._ticks(page)
            tries.append((after - before, (before + after) / 2 - int(ticks[1]) * self.period))
            page.queries.destroy()
        return min(tries)[1]

    def _ticks(self, page: Page) -> np.ndarray:
        queue, count = self.queue, 2 * len(page.facts)
        queue.resolve(page.queries, count, page.target)
        queue.flush()
        return np.frombuffer(queue.device.queue.read_buffer(page.target, 0, 8 * count), np.uint64)

    def _read(self, page: Page) -> list[Span]:
        pairs = self._ticks(page).astype(np.float64).reshape(-1, 2) * self.period + self.offset
        page.queries.destroy()
        page.target.destroy()
        spans = []
        for together, (begin, end) in zip(page.facts, pairs, strict=True):
            for kind, name, nbytes, note in together:
                spans.append(Span(kind, name, nbytes, int(begin), max(int(begin), int(end)), note))
        return spans
