"""GPU memory that goes back to its pool when nobody holds it.

The pool always hands out its oldest free block, so a loop that takes and drops in the same order
meets the same blocks again, and finds its bind groups made.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import Any
from weakref import ref

import wgpu

STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST


SLACK = 16  # bytes behind every block: kernels read and write by fours


class Block:
    """Memory itself. It lives as long as its pool; one Buffer at a time leases it."""

    __slots__ = ("end_lease", "handle", "lease", "size")

    def __init__(self, number: int, handle: wgpu.GPUBuffer, free: list[int]):
        self.handle, self.size = handle, handle.size
        self.lease: Any = None
        # Not Buffer.__del__: the cycle collector would finalize the handle along with it.
        self.end_lease = lambda _: heappush(free, number)


class Buffer:
    """The use of a block, for as long as anyone holds this."""

    __slots__ = ("__weakref__", "block")

    def __init__(self, block: Block):
        self.block = block


class Pool:
    """Free blocks by size class. Reuse is safe: one queue runs everything in order."""

    def __init__(self, device: wgpu.GPUDevice, usage: int = STORAGE):
        self.device, self.usage = device, usage
        self.blocks: list[Block] = []
        self.free: dict[int, list[int]] = defaultdict(list)  # heaps of places in `blocks`

    def take(self, nbytes: int) -> Buffer:
        size = 256 if nbytes <= 256 else 1 << (nbytes - 1).bit_length()
        free = self.free[size]
        block = self.blocks[heappop(free)] if free else self._grow(size, free)
        buffer = Buffer(block)
        block.lease = ref(buffer, block.end_lease)
        return buffer

    def _grow(self, size: int, free: list[int]) -> Block:
        handle = self.device.create_buffer(size=size + SLACK, usage=self.usage)
        block = Block(len(self.blocks), handle, free)
        self.blocks.append(block)
        return block
