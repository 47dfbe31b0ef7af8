"""Saved tensors on a disk: `spill_to_disk`.

What is saved first is needed last, so it goes first: tensors wait in host memory up to a budget,
then threads write the oldest, with a checksum. In backward other threads read ahead, in the order
in which the engine will ask.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any
from zlib import crc32

import numpy as np

from wgtorch.autograd import saved
from wgtorch.autograd.contents import moved
from wgtorch.autograd.offload import (
    Load,
    counted,
    function_first,
    memory_order,
    restrided,
    source_of,
)  # fmt: skip
from wgtorch.autograd.parameters import is_parameter_memory
from wgtorch.autograd.prefetch import coming
from wgtorch.autograd.saved_hooks import saved_tensors_hooks
from wgtorch.autograd.spill_file import SpillFile, usual_folder
from wgtorch.layout import Layout
from wgtorch.storage import Storage

WRITERS = 2


class spill_to_disk(saved_tensors_hooks):
    """Inside, tensors saved for backward wait on a disk, and return to their device for it.

    `folder` is where (by default in the user's cache); the file in it has no name, so nothing is
    left behind however the process ends. Up to `budget` MiB (256; 0 for none) stay in host memory,
    the youngest: less than that never reaches the disk. `limit` is the most MiB on the disk. A full
    disk raises OSError from the op that saves, and leaves the graph so far as it was. Bytes that
    come back changed raise RuntimeError. In backward the tensors of the next `prefetch` nodes are
    read ahead. Tensors of less than `min_size` bytes and parameters stay where they are.
    `spill_to_disk(fn)` returns `fn()` run inside.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        budget: float = 256,
        *,
        limit: float | None = None,
        prefetch: int = 2,
        min_size: int = 1024,
        offload_parameters: bool = False,
    ):
        for name, size in (("budget", budget), ("limit", limit)):
            if size is not None and (not isinstance(size, int | float) or size < 0):
                raise ValueError(f"spill_to_disk: {name} is a size in MiB; got {size!r}")
        counted(prefetch, "spill_to_disk")
        desk = Desk(
            Path(folder) if folder is not None else usual_folder(),
            int(budget * 2**20),
            None if limit is None else int(limit * 2**20),
        )
        self.desk, self.folder = desk, desk.folder

        def pack(tensor: Any) -> Any:
            small = tensor.layout.numel * tensor.dtype.itemsize < max(1, min_size)
            within = tensor.storage.value.device.level  # a transform: there are no bytes yet
            if small or within or (not offload_parameters and is_parameter_memory(tensor)):
                return tensor.bare()
            return Slip(desk, tensor, prefetch)

        super().__init__(pack, unload)

    @classmethod
    def function_of(cls, args: tuple, kwargs: dict) -> tuple[Any, tuple, dict]:
        return function_first(args, kwargs)


class Desk:
    """Where records wait for the disk: oldest first, at most `budget` bytes of them in memory."""

    def __init__(self, folder: Path, budget: int, limit: int | None):
        self.folder, self.budget, self.limit = folder, budget, limit
        self.held = 0  # bytes in host memory that are not written yet
        self.lock = Lock()
        self.waiting: list[weakref.ref[Record]] = []
        self.leaving: deque[weakref.ref[Record]] = deque()
        self.records: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.file: SpillFile | None = None

    def record(self, tensor: Any, order: list[int]) -> Record:
        """What several slots save is one record."""
        origin, what = source_of(tensor, order)
        known = self.records.setdefault(origin, weakref.WeakValueDictionary())
        record = known.get(what)
        if record is None:
            record = known[what] = Record(self, Load(tensor).host)
            self.waiting.append(weakref.ref(record))
            if self.held > self.budget:
                self.make_room()
        return record

    def make_room(self) -> None:
        """Half of the budget at a time: the first of them waits for the GPU, the rest need not."""
        waiting = alive(self.waiting)
        left = sum([record.nbytes for record in waiting])
        self.file = self.file or SpillFile(self.folder, self.limit)
        gone = 0
        try:
            while gone < len(waiting) and left > self.budget // 2:
                waiting[gone].leave(self.file)
                left -= waiting[gone].nbytes
                gone += 1
        finally:
            self.waiting = [weakref.ref(record) for record in waiting[gone:]]
            self.leaving.extend([weakref.ref(record) for record in waiting[:gone]])
        while self.held > self.budget and self.leaving:
            record = self.leaving.popleft()()
            if record is not None:
                record.finish()

    def hold(self, nbytes: int) -> None:
        with self.lock:
            self.held += nbytes

    def let_go(self, share: list[int]) -> None:
        """Of a record's bytes, once: they are written, or the record is dead."""
        with self.lock:
            self.held -= share[0]
            share[0] = 0


def alive(references: list) -> list:
    return [record for record in [reference() for reference in references] if record is not None]


class Record:
    """Bytes of a tensor: in host memory (`host`, then `data`), and on the disk once written."""

    file: SpillFile

    def __init__(self, desk: Desk, host: Any):
        value = host.storage.value
        self.desk, self.host = desk, host
        self.data: np.ndarray | None = None  # on its way to the disk
        self.dtype, self.shape = value.dtype, host.layout.shape
        self.nbytes = host.layout.numel * value.dtype.itemsize
        self.place = self.checksum = 0
        self.job: Future | None = None  # the writing, or the reading ahead
        self.slips: list[weakref.ref[Slip]] = []
        self.share = [self.nbytes]
        desk.hold(self.nbytes)
        weakref.finalize(self, desk.let_go, self.share).atexit = False

    def leave(self, file: SpillFile) -> None:
        """Starts writing; where there is no room it raises OSError and stays."""
        self.place, self.file = file.take(self.nbytes), file
        weakref.finalize(self, file.give, self.place, self.nbytes).atexit = False
        self.data, self.host = self.array(), None
        self.job = workers().submit(self.write)

    def array(self) -> np.ndarray:
        """The bytes, from memory; of a tensor on its way from a device, waits."""
        home = self.host.storage.value.device.backend
        return np.ascontiguousarray(home.download(self.host)).reshape(-1).view(np.uint8)

    def write(self) -> None:
        data = self.data
        assert data is not None
        self.checksum = crc32(data.data)
        self.file.write(self.place, data)
        self.data = None
        for slip in alive(self.slips):
            moved(slip)
        self.desk.let_go(self.share)

    def finish(self) -> None:
        """Waits for the write; one that failed is told here, and leaves the bytes in memory."""
        if self.job is not None:
            self.job.result()

    def send_for(self) -> None:
        """Starts reading."""
        if self.host is None and self.data is None and (self.job is None or self.job.done()):
            self.job = workers().submit(self.read)

    def read(self) -> np.ndarray:
        data = self.file.read(self.place, self.nbytes)
        if len(data) < self.nbytes or crc32(data.data) != self.checksum:
            raise RuntimeError(
                f"spill_to_disk: the {self.nbytes} bytes of a saved tensor of shape"
                f" {list(self.shape)} came back changed from the disk of {self.file.folder}; no"
                " gradient can be computed from them. Run forward again, with another folder"
            )
        return data

    def tensor(self, device: Any) -> Any:
        """The tensor on a device, dense."""
        host, data, home = self.host, self.data, device.backend
        if host is not None:
            there = host.to(device)
            return there.over(Storage(there.storage.value), there.layout)
        if data is not None:
            value = home.upload(data.view(self.dtype.np), self.dtype)
        else:
            job, self.job = self.job, None
            found = None if job is None else job.result()
            data = self.read() if found is None else found
            value = getattr(home, "adopt", home.upload)(data.view(self.dtype.np), self.dtype)
        return saved.Tensor(Storage(value), Layout.contiguous(self.shape))


class Slip:
    """What stands for a saved tensor: which record, and how it lay in memory."""

    __slots__ = ("__weakref__", "device", "layout", "nodes", "order", "record", "watchers")

    def __init__(self, desk: Desk, tensor: Any, nodes: int):
        if tensor.device.type == "cpu" and type(tensor.storage) is not saved.Frozen:
            tensor = saved.snapshot(tensor)  # a write to the tensor is not seen by its record
        layout, self.device, self.nodes = tensor.layout, tensor.device, nodes
        self.layout = Layout.of(layout.shape, layout.strides, 0)
        self.order = memory_order(layout)
        self.watchers: list[Any] = []  # are told when it is on the disk
        self.record = desk.record(tensor, self.order)
        self.record.slips.append(weakref.ref(self))

    def holdings(self) -> Iterator[tuple[str, Any, int]]:
        record = self.record
        on_disk = record.host is None and record.data is None
        place = "disk" if on_disk else "host"
        yield place, (place, id(record)), record.nbytes


def unload(packed: Any) -> Any:
    if type(packed) is not Slip:
        return packed
    for slip in coming(Slip, packed.nodes):
        slip.record.send_for()
    return restrided(packed.record.tensor(packed.device), packed.layout, packed.order)


@cache
def workers() -> ThreadPoolExecutor:
    """Threads that write and read; checksums and the system's calls run beside Python."""
    return ThreadPoolExecutor(WRITERS, thread_name_prefix="wgtorch-spill")
