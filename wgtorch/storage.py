"""Values never change; a Storage is the one variable that holds them.

An in-place op puts a new Value into the Storage. Views of the Storage see it, and whoever
captured the old Value (a promise, a saved tensor) keeps it: nothing is ever overwritten. A
backend may reuse the memory of a Value that only the Storage holds; nobody can tell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from wgtorch.device import Device
from wgtorch.dtype import DType
from wgtorch.layout import Layout


class Value:
    """Elements on a device, or the promise of them."""

    __slots__ = ("__weakref__", "buffer", "device", "dtype", "load", "numel", "promise")

    def __init__(self, device: Device, dtype: DType, numel: int, buffer: Any, promise: Any = None):
        self.device, self.dtype, self.numel = device, dtype, numel
        self.buffer = buffer  # the backend's own; None while promised
        self.promise = promise  # the backend's recipe for the buffer; None once filled
        self.load: Any = None  # the backend's note of how this was last read

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize


first_version: Callable[[], int] | None = None  # while a thread is in inference mode


class Storage:
    """The variable: `version` counts writes, `writes` those that autograd recorded."""

    __slots__ = ("__weakref__", "shared", "value", "version", "writes")

    def __init__(self, value: Value):
        self.value = value
        self.version = 0 if first_version is None else first_version()
        self.writes = 0
        self.shared = False  # numpy or DLPack sees this memory too: writes must land in it


class Lens(Storage):
    """The memory of another Storage as elements of another dtype; a write shows in both."""

    __slots__ = ("base", "dtype")

    def __init__(self, base: Storage, dtype: DType):
        self.base, self.dtype = base, dtype

    @property
    def value(self) -> Value:  # type: ignore[override]
        value = self.base.value
        return value.device.backend.reseen(value, self.dtype)

    @value.setter
    def value(self, value: Value) -> None:
        self.base.value = value.device.backend.reseen(value, self.base.value.dtype)

    @property
    def version(self) -> int:  # type: ignore[override]
        return self.base.version

    @version.setter
    def version(self, version: int) -> None:
        self.base.version = version

    @property
    def writes(self) -> int:  # type: ignore[override]
        return self.base.writes

    @writes.setter
    def writes(self, writes: int) -> None:
        self.base.writes = writes

    @property
    def shared(self) -> bool:  # type: ignore[override]
        return self.base.shared

    @shared.setter
    def shared(self, shared: bool) -> None:
        self.base.shared = shared


def through_lens(storage: Storage, dtype: DType) -> Storage:
    """The memory of `storage` seen as `dtype`."""
    base = memory_of(storage)
    return base if base.value.dtype is dtype else Lens(base, dtype)


def memory_of(storage: Storage) -> Storage:
    """The Storage that holds the memory."""
    return storage.base if type(storage) is Lens else storage


class Gift(threading.local):
    """The Storage whose memory the next op that starts from it may take: it is overwritten next."""

    storage: Storage | None = None

    def taken(self, view: View) -> bool:
        """Whether `view` is all of what is given; it is taken then."""
        if self.storage is None or view.storage is not self.storage or not view.is_whole:
            return False
        self.storage = None
        return True


gift = Gift()


class View:
    """A Storage seen through a Layout."""

    __slots__ = ("layout", "storage")

    def __init__(self, storage: Storage, layout: Layout):
        self.storage, self.layout = storage, layout

    @property
    def value(self) -> Value:
        return self.storage.value

    @property
    def dtype(self) -> DType:
        return self.storage.value.dtype

    @property
    def is_whole(self) -> bool:
        """Every element of the storage, in its order."""
        return self.layout.is_plain and self.layout.numel == self.storage.value.numel
