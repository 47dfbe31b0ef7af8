"""Storages as PyTorch shows them: the memory under tensors, as elements or as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wgtorch.backend import backend
from wgtorch.device import Device
from wgtorch.dtype import DType
from wgtorch.facts import address
from wgtorch.layout import Layout
from wgtorch.storage import Storage
from wgtorch.tensor import Tensor


class UntypedStorage:
    """The memory under a tensor as bytes: `tensor.untyped_storage()`."""

    def __init__(self, storage: Storage):
        self._storage = storage

    @property
    def _bytes(self) -> np.ndarray:
        whole = Tensor(self._storage, Layout.contiguous((self._storage.value.numel,)))
        return np.ascontiguousarray(backend(whole.device).download(whole)).view(np.uint8)

    @property
    def device(self) -> Device:
        return self._storage.value.device

    def nbytes(self) -> int:
        return self._storage.value.nbytes

    size = nbytes

    @property
    def byteLength(self) -> int:
        return self.nbytes()

    def data_ptr(self) -> int:
        return address(self._storage)

    def __len__(self) -> int:
        return self.nbytes()

    def tolist(self) -> list[int]:
        return self._bytes.tolist()

    def __getitem__(self, index: int) -> int:
        return int(self._bytes[index])

    def __repr__(self) -> str:
        rows = "".join(f" {value}\n" for value in self.tolist())
        return f"{rows}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


class TypedStorage:
    """The memory under a tensor as a row of elements: `tensor.storage()`."""

    def __init__(self, storage: Storage):
        self._storage = storage

    @property
    def _whole(self) -> Tensor:
        return Tensor(self._storage, Layout.contiguous((self.size(),)))

    @property
    def dtype(self) -> DType:
        return self._storage.value.dtype

    @property
    def device(self) -> Device:
        return self._storage.value.device

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    def size(self) -> int:
        return self._storage.value.numel

    def __len__(self) -> int:
        return self.size()

    def element_size(self) -> int:
        return self.dtype.itemsize

    def nbytes(self) -> int:
        return self._storage.value.nbytes

    @property
    def byteLength(self) -> int:
        return self.nbytes()

    def data_ptr(self) -> int:
        return address(self._storage)

    def untyped(self) -> UntypedStorage:
        return UntypedStorage(self._storage)

    def tolist(self) -> list:
        return self._whole.tolist()

    def __getitem__(self, index: int) -> Any:
        return self._whole[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._whole[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def fill_(self, value: Any) -> TypedStorage:
        self._whole.fill_(value)
        return self

    def clone(self) -> TypedStorage:
        return TypedStorage(self._whole.clone().storage)

    def cpu(self) -> TypedStorage:
        return TypedStorage(self._whole.cpu().storage)

    def __repr__(self) -> str:
        rows = "".join(f" {value}\n" for value in self.tolist())
        return (
            f"{rows}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size"
            f" {self.size()}]"
        )


def storage(self: Storage) -> TypedStorage:
    """What `tensor.storage()` is: the memory under all its views."""
    return TypedStorage(self)


Storage.__call__ = storage  # type: ignore[attr-defined, method-assign]  # tensor.storage is the noun itself
