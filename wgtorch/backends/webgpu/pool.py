"""GPU memory that goes back to its pool when nobody holds it.

The pool always hands out its oldest free block, so a loop that takes and drops in the same order
meets the same blocks again, and finds its bind groups made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any
from weakref import ref

import wgpu

from wgtorch.errors import DeviceLostError, OutOfMemoryError

STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
SLACK = 16  # bytes behind every block: kernels read and write by fours
KNOWN = 1 << 12  # sizes remembered
SMALL = 1 << 16  # up to here sizes are powers of two; beyond, four steps to each


class Block:
    """Memory itself. It lives as long as its pool; one Buffer at a time leases it."""

    __slots__ = ("end_lease", "handle", "lease", "leased", "size")

    def __init__(self, number: int, handle: wgpu.GPUBuffer, size: int, pool: Pool):
        self.handle, self.size = handle, size
        self.leased = 0  # bytes that the present lease asked for
        self.lease: Any = None
        free, live, push = pool.free[size], pool.live, heappush  # a module's names go at exit

        # Not Buffer.__del__: the cycle collector would finalize the handle along with it.
        def end_lease(_: Any) -> None:
            live.current -= self.leased
            push(free, number)

        self.end_lease = end_lease


class Buffer:
    """The use of a block, for as long as anyone holds this."""

    __slots__ = ("__weakref__", "block")
    block: Block


def blocks_of(buffers: Iterable[Buffer]) -> list[Block]:
    """Their blocks, all of which are still there."""
    blocks = [buffer.block for buffer in buffers]
    for block in blocks:
        if block.handle is None:
            raise lost()
    return blocks


def lost() -> DeviceLostError:
    return DeviceLostError("the data of this tensor went with a webgpu device that was lost")


class Live:
    """Bytes in use, and the most there ever were."""

    __slots__ = ("current", "peak")

    def __init__(self) -> None:
        self.current = self.peak = 0


class Pool:
    """Free blocks by size class. Reuse is safe: one queue runs everything in order."""

    def __init__(self, device: wgpu.GPUDevice, usage: int = STORAGE, most_bytes: int = 1 << 62):
        self.device, self.usage = device, usage
        self.most_bytes = most_bytes  # of one buffer that a kernel can see
        self.blocks: dict[int, Block] = {}
        self.free: dict[int, list[int]] = defaultdict(list)  # heaps of keys of `blocks`
        self.known: dict[int, list[int]] = {}  # the same by bytes asked for
        self.live = Live()
        self.reserved = self.most_reserved = 0
        self.numbers = 0
        self.make_room: Callable[[], None] = lambda: None  # what may free blocks when there is none
        self.fail: Callable[[str], Exception] = RuntimeError

    def size_of(self, nbytes: int) -> int:
        """The bytes of the blocks that hold so many."""
        size = 256 if nbytes <= 256 else 1 << (nbytes - 1).bit_length()
        if size > SMALL:
            size = min(-(-nbytes // (size >> 3)) * (size >> 3), max(nbytes, self.most_bytes))
        return size

    def _look_up(self, nbytes: int) -> list[int]:
        """The free blocks for so many bytes, which is remembered."""
        if len(self.known) >= KNOWN:
            self.known.clear()
        free = self.known[nbytes] = self.free[self.size_of(nbytes)]
        return free

    def take(self, nbytes: int) -> Buffer:
        free = self.known.get(nbytes)
        if free is None:
            free = self._look_up(nbytes)
        block = self.blocks[heappop(free)] if free else self._grow(self.size_of(nbytes), nbytes)
        buffer = Buffer()
        buffer.block = block
        block.lease = ref(buffer, block.end_lease)
        block.leased = nbytes
        live = self.live
        live.current = current = live.current + nbytes
        if current > live.peak:
            live.peak = current
        return buffer

    def _grow(self, size: int, nbytes: int) -> Block:
        if nbytes > self.most_bytes:
            raise OutOfMemoryError(
                f"a tensor of {nbytes} bytes: this adapter lets a kernel see at most"
                f" {self.most_bytes} bytes of one buffer; split the tensor"
            )
        handle = self._create(size + SLACK)
        if handle is None:
            self.make_room()
            handle = self._create(size + SLACK)
        if handle is None:
            raise OutOfMemoryError(
                f"webgpu out of memory: tried to allocate {nbytes} bytes; in use"
                f" {self.live.current} bytes (peak {self.live.peak}), reserved {self.reserved}"
            )
        block = Block(self.numbers, handle, size, self)
        self.blocks[self.numbers] = block
        self.numbers += 1
        self.reserved += size
        self.most_reserved = max(self.most_reserved, self.reserved)
        return block

    def _create(self, size: int) -> wgpu.GPUBuffer | None:
        try:
            return self.device.create_buffer(size=size, usage=self.usage)
        except wgpu.GPUOutOfMemoryError:
            return None
        except wgpu.GPUError as error:
            if "memory" in str(error).lower():
                return None
            raise self.fail(str(error)) from None

    def drop_free(self) -> list[Block]:
        """Takes the free blocks out of the pool; the caller destroys them."""
        dropped = []
        for free in self.free.values():
            for number in free:
                block = self.blocks.pop(number)
                self.reserved -= block.size
                dropped.append(block)
            free.clear()
        return dropped

    def stats(self) -> dict[str, int]:
        return {
            "allocated_bytes.all.current": self.live.current,
            "allocated_bytes.all.peak": self.live.peak,
            "reserved_bytes.all.current": self.reserved,
            "reserved_bytes.all.peak": self.most_reserved,
        }

    def reset_peak(self) -> None:
        self.live.peak, self.most_reserved = self.live.current, self.reserved
