"""Values on their way to the host: promised there at once, copied when a submit passes by.

A staging block has one owner at a time: first the Download that copies into it, then the array
that shows its mapped memory. Submitting work on a mapped block would abort the process; a block
goes back to its pool only unmapped, and no one else can name it before.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np
import wgpu

from wgtorch.backends.webgpu.complaints import Complaints, Said, raise_first
from wgtorch.backends.webgpu.faults import faults
from wgtorch.backends.webgpu.freight import Freight
from wgtorch.backends.webgpu.pool import STORAGE, Buffer, Pool
from wgtorch.backends.webgpu.queue import Queue
from wgtorch.storage import Value
from wgtorch.turns import in_turn

HOST = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST
ROUND_TRIP = HOST | wgpu.BufferUsage.COPY_SRC  # needs the feature mappable-primary-buffers


class Download:
    """The promise of a host array. Holds the device value until it is copied, then the copy."""

    __slots__ = ("__weakref__", "dock", "dtype", "nbytes", "numel", "returning", "staging", "value")

    def __init__(self, dock: Dock, value: Value):
        self.dock, self.value, self.dtype, self.numel = dock, value, value.dtype, value.numel
        self.nbytes = -(-value.nbytes // 4) * 4
        self.staging: Buffer | None = None
        self.returning: list[weakref.ref[Value]] = []  # device values that are to have the copy

    def leave(self) -> bool:
        """Copies, if the value is there; whether it was."""
        if self.value.promise is not None:
            return False
        self.staging = self.dock.pool.take(self.nbytes)
        self.dock.move("d2h", self.value.buffer, self.staging, self.nbytes)
        self.value = None
        return True

    @in_turn
    def array(self) -> np.ndarray:
        """Waits; flat, in the device's element type. The memory is mapped, not copied again."""
        if self.value is not None:
            self.dock.home.fill(self.value)
        for value in [reference() for reference in self.returning]:
            if value is not None:
                self.dock.home.fill(value)
        if self.dock.freight is not None:
            self.dock.leave()
            self.dock.settle(self.staging)
        left = self.dock.complaints.leave()
        self.dock.queue.flush()
        self.dock.queue.waited()
        self.dock.hear(left)
        try:
            array = mapped(self.dock.queue, self.staging, self.nbytes)
        except wgpu.GPUError as error:  # the copy is still there: whoever asks again may have it
            raise self.dock.queue.fail(str(error)) from None
        self.staging = None
        return array

    def back(self, home: Any) -> Value | None:
        """On its device again without passing through Python; None where that cannot be."""
        if home is not self.dock.home:
            return None
        if self.value is not None:
            return self.value
        return self.dock.fetch(self) if self.dock.round_trip else None


class Fetch:
    """The promise of a value that comes back: its memory is taken when it is first read."""

    __slots__ = ("buffer", "download")
    layout, number, is_constant = None, None, False  # no expression, so nothing can join it

    def __init__(self, download: Download):
        self.download = download
        self.buffer: Buffer | None = None  # where it is on its way to

    def explained(self) -> str:
        return "on its way back from the host: it is copied when it is first read"

    @in_turn
    def begin(self, value: Value) -> None:
        """It will be needed: on its way, where it can ride along; else there at once."""
        download = self.download
        dock, nbytes, staging = download.dock, download.nbytes, download.staging
        if self.buffer is None and dock.freight is not None and dock.near(staging) is None:
            self.buffer = dock.home.take(nbytes)
            dock.move("h2d", staging, self.buffer, nbytes)
        elif self.buffer is None:
            self.fulfil(value)

    def fulfil(self, value: Value) -> None:
        download = self.download
        dock, nbytes, staging = download.dock, download.nbytes, download.staging
        assert staging is not None
        buffer = self.buffer or dock.near(staging)
        if buffer is None:
            buffer = dock.home.take(nbytes)
            dock.moved["h2d"] += nbytes
            dock.queue.copy(staging, buffer, nbytes)
        elif buffer is self.buffer:
            dock.settle(buffer)
        value.buffer = buffer
        value.promise = None


class Dock:
    """Where downloads wait for a submit."""

    def __init__(self, backend: Any):
        gpu = backend.gpu
        self.home = backend
        self.round_trip = "mappable-primary-buffers" in gpu.device.features
        self.pool = Pool(gpu.device, ROUND_TRIP if self.round_trip else HOST)
        self.pool.fail = gpu.fail
        self.queue: Queue = gpu.queue
        self.queue.depart = self.leave
        self.waiting: list[weakref.ref[Download]] = self.queue.departures
        self.complaints = Complaints(self)
        self.moved = {"d2h": 0, "h2d": 0}  # bytes that went to the host and came back
        self.read_bytes = 0  # of those that went there: for whoever waited to see them
        self.freight: Freight | None = None
        if self.round_trip and gpu.traits.kind == "discrete":
            self.load_beside_kernels()

    def send(self, value: Value) -> Download:
        download = Download(self, value)
        self.waiting.append(weakref.ref(download))
        return download

    @in_turn
    def read(self, value: Value) -> np.ndarray:
        """The elements, for someone who waits: nothing stays at the host."""
        download = self.send(value)
        array = download.array()
        self.read_bytes += download.nbytes
        return array

    def leave(self) -> None:
        """Starts the copies of all values that have come true; dropped downloads never copy."""
        waiting = self.waiting[:]
        self.waiting.clear()
        for reference in waiting:
            download = reference()
            if download is not None and download.value is not None and not download.leave():
                self.waiting.append(reference)

    def load_beside_kernels(self, **limits: Any) -> None:
        """Copies are made by kernels beside others, see freight.py: worth it where there is a bus.
        Staging memory is to be had by kernels from here on."""
        pool, self.pool = self.pool, Pool(self.queue.device, ROUND_TRIP | STORAGE)
        self.pool.make_room, self.pool.fail = pool.make_room, pool.fail
        self.freight = Freight(self, **limits)

    def move(self, way: str, source: Buffer, target: Buffer, nbytes: int) -> None:
        """A copy that nobody waits for."""
        freight = self.freight
        if freight is not None and freight.takes(source, target, nbytes):
            freight.load(freight.away if way == "d2h" else freight.home, source, target, nbytes)
        else:
            self.moved[way] += nbytes
            self.queue.copy(source, target, nbytes)

    def near(self, staging: Buffer | None) -> Buffer | None:
        """The buffer of the device whose bytes have not all left for this one yet."""
        return None if self.freight is None or staging is None else self.freight.near(staging)

    def settle(self, buffer: Buffer | None) -> None:
        """Copies from or to this buffer are made, if they were to be."""
        if self.freight is not None and buffer is not None:
            self.freight.settle(buffer)

    def unload(self) -> None:
        """All that was to be copied is."""
        if self.freight is not None:
            self.queue.flush()  # what leaves then is among it
            self.freight.unload()

    def finish(self) -> None:
        """Waits for everything submitted so far; raises what kernels complained about."""
        self.unload()
        left = self.complaints.leave()
        self.queue.flush()
        self.queue.wait()
        self.queue.waited()
        self.hear(left)

    def flag(self, complaint: str | Exception) -> tuple[Buffer, int]:
        """Where a kernel reports what is wrong with its data: a buffer, and its slot in it."""
        slot = self.complaints.slot(complaint)
        return self.complaints.buffer, slot

    def hear(self, left: tuple[Buffer, list[Said]] | None) -> None:
        """Raises the first of the complaints that have left the device."""
        if left is not None:
            staging, said = left
            raise_first(mapped(self.queue, staging, 4 * len(said)).view(np.uint32), said)

    def fetch(self, download: Download) -> Value:
        """On the device again, once it is read there: till then it takes no memory."""
        value = Value(self.home.device, download.dtype, download.numel, None, Fetch(download))
        download.returning.append(weakref.ref(value))
        return value


def mapped(queue: Queue, staging: Buffer, nbytes: int) -> np.ndarray:
    """The bytes of a staging buffer, which stays ours until the last view of them is gone."""
    memory = (ctypes.c_char * nbytes).from_address(queue.map(staging.block, nbytes))
    weakref.finalize(memory, unmap, queue, staging).atexit = False
    return np.frombuffer(memory, np.uint8)


def unmap(queue: Queue, staging: Buffer) -> None:
    said = len(faults.reports)
    queue.unmap(staging.block)
    del faults.reports[said:]  # of a device that was lost: this memory went with it


def whole_words(data: np.ndarray) -> np.ndarray:
    """As bytes, padded to what a copy can move."""
    raw = data.view(np.uint8)
    return raw if raw.size % 4 == 0 else np.pad(raw, (0, -raw.size % 4))
