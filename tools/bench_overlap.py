"""Whether copies and kernels run at the same time on this adapter: what offload can hide behind.

A kernel that only computes stands for a network; 16 MiB pieces go to host memory and back. Alone,
then both, the copies recorded (a) each behind its own kernel, as an op that saves does, (b) in one
burst before the kernels, and (c) each by a kernel that begins the other's pass (see
backends/webgpu/freight.py), by so many workgroups.
hidden = 1 - (both - kernels alone) / copies alone: 1 is free, 0 is one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import wgpu

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu.gauge import text
from wgtorch.backends.webgpu.pool import STORAGE, Pool
from wgtorch.device import Device

PIECE = 1 << 24  # bytes
COUNT = 16  # pieces
COUNTS = (4, 8, 32, 128)  # workgroups that move
HOST = wgpu.BufferUsage.MAP_READ | STORAGE


class Overlap:
    """The kernel, and buffers on both sides."""

    def __init__(self) -> None:
        self.home: Any = backend(Device("webgpu"))
        self.queue, self.software = self.home.queue, self.home.gpu.traits.is_software
        self.piece = PIECE if not self.software else PIECE >> 6
        self.kernel = self.home.gpu.pipelines.get(text("gauge.wgsl"), "gauge")
        self.mover = self.home.gpu.pipelines.get(text("freight.wgsl"), "freight")
        self.pool = Pool(self.home.gpu.device, HOST)
        self.sink = self.home.take(1 << 14)
        self.near = [self.home.take(self.piece) for _ in range(COUNT)]
        self.far = [self.pool.take(self.piece) for _ in range(COUNT)]
        self.work, self.turns = (132 * 8, 1000) if not self.software else (4, 10)
        alone = self.seconds(self.computed)
        self.turns = max(
            1, int(self.turns * self.seconds(self.copied) / alone)
        )  # as long as copies

    def launch(self) -> None:
        groups = (self.work, 1, 1)
        self.queue.dispatch(self.kernel, [self.sink.block], (self.turns,), groups)

    def move(self, source: Any, target: Any, workgroups: int) -> None:
        """As the beginning of a pass, beside whatever comes next."""
        self.queue.close()
        blocks, numbers = (source.block, target.block), (0, self.piece // 16)
        self.queue.beside(self.mover, blocks, numbers, (workgroups, 1, 1), None)

    def seconds(self, run: Callable[[], None]) -> float:
        """The least of five."""
        took = []
        for _ in range(6):
            self.queue.flush()
            self.queue.wait()
            start = time.perf_counter()
            run()
            self.queue.flush()
            self.queue.wait()
            took.append(time.perf_counter() - start)
        return min(took[1:])

    def pairs(self, back: bool) -> Iterator[tuple[Any, Any]]:
        for near, far in zip(self.near, self.far, strict=True):
            yield (far, near) if back else (near, far)

    def computed(self) -> None:
        for _ in self.near:
            self.launch()

    def copied(self, back: bool = False) -> None:
        for pair in self.pairs(back):
            self.queue.copy(*pair, self.piece)

    def carried(self, back: bool, workgroups: int, work: bool = False) -> None:
        for pair in self.pairs(back):
            self.move(*pair, workgroups)
            if work:
                self.launch()

    def each(self, back: bool) -> None:
        for pair in self.pairs(back):
            self.launch()
            self.queue.copy(*pair, self.piece)

    def burst(self, back: bool) -> None:
        self.copied(back)
        self.computed()


def one_way(overlap: Overlap, kernels: float, back: bool, way: str) -> None:
    total = COUNT * overlap.piece
    copies = overlap.seconds(partial(overlap.copied, back))
    print(f"{way}: {COUNT} copies alone {1e3 * copies:.2f} ms, {total / copies / 1e9:.1f} GB/s")
    for count in COUNTS:
        seconds = overlap.seconds(partial(overlap.carried, back, count))
        print(f"  by {count} workgroups alone: {total / seconds / 1e9:.1f} GB/s")
    ways = [
        ("(a) a copy behind each kernel", partial(overlap.each, back)),
        ("(b) copies in a burst, then kernels", partial(overlap.burst, back)),
    ]
    for count in COUNTS:
        beside = partial(overlap.carried, back, count, True)
        ways.append((f"(c) {count} workgroups beside each kernel", beside))
    for what, run in ways:
        both = overlap.seconds(run)
        hidden = 1 - (both - kernels) / copies
        print(f"  {what:<38}{1e3 * both:9.2f} ms  hidden {hidden:5.2f}")


def main() -> None:
    if not torch.webgpu.get_device_properties().mappable:
        print("this adapter lacks mappable-primary-buffers: there is no host memory to write")
        return
    overlap = Overlap()
    kernels = overlap.seconds(overlap.computed)
    print(f"{torch.webgpu.get_device_name()}: kernels alone {1e3 * kernels:.2f} ms")
    for back, way in ((False, "device to host"), (True, "host to device")):
        one_way(overlap, kernels, back, way)


if __name__ == "__main__":
    main()
