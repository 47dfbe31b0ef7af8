"""Exchange: a tensor as numpy, Python's lists and other libraries have it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from wgtorch.backend import backend
from wgtorch.device import Device
from wgtorch.dtype import bfloat16, from_numpy
from wgtorch.layout import Layout
from wgtorch.storage import Storage, View

VERSIONS = ("2024.12", "2023.12", "2022.12", "2021.12")  # of the array API, the newest first


class Exchange(View):
    __slots__ = ()
    __array_priority__ = 1000  # numpy arrays leave mixed arithmetic to us

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The elements as numpy; shares memory with a cpu tensor."""
        if self._wants and not force:  # type: ignore[attr-defined]
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()"
                " instead."
            )
        device = self.storage.value.device
        if device.type != "cpu" and not force:
            raise TypeError(
                f"can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy"
                f" the tensor to host memory first."
            )
        if device.type == "cpu":
            self.storage.shared = True
        return backend(device).download(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What a function of numpy makes of a tensor is a tensor again."""
        array = np.asarray(array)
        value = backend(Device("cpu")).upload(array, from_numpy(array.dtype))
        return self.over(Storage(value), Layout.contiguous(array.shape))  # type: ignore[attr-defined]

    def tolist(self) -> Any:
        array = backend(self.storage.value.device).download(self)
        return (array.astype(np.float32) if self.dtype is bfloat16 else array).tolist()

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """wgtorch by the Python array API standard, 2024.12, and what that took over."""
        if api_version not in (None, *VERSIONS):
            raise ValueError(f"array API {api_version!r} is not known; there is {VERSIONS[0]}")
        return import_module("wgtorch.array_api")

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """On a device, by the name that the array API standard has for `to`."""
        return self.to(device)  # type: ignore[attr-defined]

    def __dlpack__(self, **options: Any) -> Any:
        """For other libraries to look at the memory of a cpu tensor."""
        self.__dlpack_device__()
        if self.requires_grad:  # type: ignore[attr-defined]
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        device = self.storage.value.device
        if device.type != "cpu":
            raise BufferError(f"DLPack knows no {device}; use .cpu()")
        return 1, 0
