"""A Gauge says how fast a GPU and its bus are, where estimates were made with others.

It runs once, when a copy is to ride beside a kernel for the first time. If the bus is slower than
was thought, or the kernel faster, the kernel's pass would end with the copy, by few workgroups:
worse than one after the other. The other way round copies would wait in vain.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import declare_launch
from wgtorch.backends.webgpu.pool import Buffer

GROUPS = 1056
TURN = 144.0  # nanoseconds that an H200 takes for a turn of so many workgroups
LONG = 4e-4  # seconds that tell from the time of a submit
SINK = 1 << 14  # bytes that gauge.wgsl writes
PIECE = 1 << 22  # bytes of a copy
MORE = 8  # copies by which a submit is longer than another


def text(name: str) -> str:
    """A shader whose numbers are all u32."""
    launch = dict.fromkeys(library.head(name)["launch"].split(), "u32")
    return declare_launch(launch) + library.shader(name)


class Gauge:
    """Of the adapter that a backend is for. Nothing may be recorded meanwhile by others."""

    def __init__(self, home: Any, seconds: Callable | None = None):
        self.home, self.queue = home, home.queue
        self.seconds = seconds or self.clocked
        self.alu = home.gpu.pipelines.get(text("gauge.wgsl"), "gauge")
        self.mover = home.gpu.pipelines.get(text("freight.wgsl"), "freight")

    def slowness(self) -> float:
        """How many times as long as an H200 this GPU takes to compute."""
        sink = (self.home.take(SINK).block,)
        work, turns = (self.alu, sink, GROUPS), 64
        idle = self.seconds(*work, (1,), 1)
        while (took := self.seconds(*work, (turns,), 1) - idle) < LONG:
            turns *= 4
        return took / turns / (TURN * 1e-9)

    def rate(self, source: Buffer, target: Buffer, groups: int) -> float:
        """Bytes a nanosecond that so many workgroups write to the host; the buffers have `PIECE`.

        What comes from there is not asked for: a second time it would come from a cache.
        """
        work = self.mover, (source.block, target.block), groups, (0, PIECE // 16)
        one, all_ = self.seconds(*work, 1), self.seconds(*work, 1 + MORE)
        took = max(all_ - one, all_ / 4)  # whatever else the machine did during the first
        return MORE * PIECE / took / 1e9

    def clocked(self, kernel: Any, blocks: tuple, groups: int, numbers: tuple, times: int) -> float:
        """The least of three, by the host's clock: of so many passes until they are done."""
        queue, took = self.queue, []
        plain = type(queue)  # a timer may stand in front of it
        for _ in range(4):
            queue.hand_over()
            queue.wait()
            start = time.perf_counter()
            for _ in range(times):
                plain.open(queue)
                plain.beside(queue, kernel, blocks, numbers, (groups, 1, 1), None)
                queue.close()
            queue.hand_over()
            queue.wait()
            took.append(time.perf_counter() - start)
        return min(took[1:])
