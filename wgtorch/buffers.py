"""Storages by device: a cpu tensor's is a numpy array, a webgpu tensor's is a DeviceBuffer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from wgtorch.backend import backend, fulfil
from wgtorch.device import Device
from wgtorch.dtype import uint8
from wgtorch.layout import Layout
from wgtorch.storage import Storage, View, memory_of, through_lens
from wgtorch.storages import UntypedStorage
from wgtorch.tensor import Tensor, full


class DeviceBuffer:
    """Bytes of a webgpu device: those under a tensor (`tensor.untyped_storage().buffer`), or
    `DeviceBuffer(size)` of its own, which are 0.

    The memory goes back to its pool when nobody uses it any more; `destroy()` ends this use.
    """

    def __init__(self, size: int | Storage, device: Any = "webgpu"):
        place = size.value.device if isinstance(size, Storage) else Device(device)
        if place.type != "webgpu" or place.level:
            raise RuntimeError(f"DeviceBuffer: tensors on {place} have no buffer of a GPU")
        self.device = place
        memory = size if isinstance(size, Storage) else full((size,), 0, uint8, place).storage
        self._memory: Storage | None = memory_of(memory)

    def _bytes(self, start: int = 0, stop: int | None = None) -> Tensor:
        if self._memory is None:
            raise RuntimeError("this DeviceBuffer was destroyed")
        whole = Tensor(through_lens(self._memory, uint8), Layout.contiguous((self.size,)))
        return whole[start:stop]

    @property
    def size(self) -> int:
        """In bytes."""
        return 0 if self._memory is None else self._memory.value.nbytes

    @property
    def usage(self) -> int:
        """The sum of `BufferUsage` flags."""
        return int(backend(self.device).gpu.pool.usage)  # type: ignore[attr-defined]

    @property
    def handle(self) -> Any:
        """wgpu's own object, which may be larger. It is this memory until the next write."""
        if self._memory is None:
            raise RuntimeError("this DeviceBuffer was destroyed")
        fulfil(View(self._memory, Layout.contiguous((self._memory.value.numel,))))
        backend(self.device).queue.flush()  # type: ignore[attr-defined]
        return self._memory.value.buffer.block.handle

    def read(self, offset: int = 0, size: int | None = None) -> bytes:
        """Waits for what is being computed."""
        stop = None if size is None else offset + size
        return self._bytes(offset, stop).cpu().numpy().tobytes()

    def write(self, data: Any, offset: int = 0) -> None:
        """Writes anything with the buffer protocol; tensors on this memory see it."""
        given = np.frombuffer(data, np.uint8)
        if offset < 0 or offset + given.size > self.size:
            raise IndexError(
                f"DeviceBuffer.write: bytes {offset} to {offset + given.size} of {self.size}"
            )
        self._bytes(offset, offset + given.size)[:] = Tensor(
            Storage(backend(self.device).upload(given, uint8)), Layout.contiguous(given.shape)
        )

    @contextmanager
    def mapped(self) -> Iterator[np.ndarray]:
        """A numpy array of the bytes; what is changed in it is written at the end."""
        array = np.frombuffer(self.read(), np.uint8).copy()
        yield array
        self.write(array)

    def destroy(self) -> None:
        self._memory = None

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"DeviceBuffer(size={self.size}, device={str(self.device)!r})"


class CPUStorage(UntypedStorage):
    """The memory under a cpu tensor."""

    @property
    def array(self) -> np.ndarray:
        """The memory itself, as bytes: writes on either side show on the other."""
        self._storage.shared = True
        return self._bytes


class WebGPUStorage(UntypedStorage):
    """The memory under a webgpu tensor."""

    @property
    def buffer(self) -> DeviceBuffer:
        return DeviceBuffer(self._storage)


KINDS = {"cpu": CPUStorage, "webgpu": WebGPUStorage}


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes under all views of this memory."""
    if self.dtype.encoding is not None:
        raise RuntimeError(
            f"{self.dtype} is made of other tensors: use {self.dtype}.components(tensor)"
        )
    return KINDS.get(self.device.type, UntypedStorage)(self.storage)


Tensor.untyped_storage = untyped_storage  # type: ignore[assignment, method-assign]
