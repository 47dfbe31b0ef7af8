"""What a tensor says of itself without looking at its data: shape, dtype, device, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.device import Device
from wgtorch.layout import wrap_real_dim
from wgtorch.size import Size
from wgtorch.storage import Storage, View, memory_of


class Facts(View):
    __slots__ = ()

    @property
    def shape(self) -> Size:
        return Size(self.layout.shape)

    @property
    def device(self) -> Device:
        return self.storage.value.device

    @property
    def ndim(self) -> int:
        return len(self.layout.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.layout.numel * self.dtype.itemsize

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        return self.device.type == "meta"

    @property
    def is_webgpu(self) -> bool:
        return self.device.type == "webgpu"

    is_cuda = is_webgpu  # code written for PyTorch asks this

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.layout.shape[wrap_real_dim(dim, self.ndim)]

    def dim(self) -> int:
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        return self.layout.numel

    nelement = numel

    def element_size(self) -> int:
        return self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        strides = self.layout.strides
        return strides if dim is None else strides[wrap_real_dim(dim, self.ndim)]

    def storage_offset(self) -> int:
        return self.layout.offset

    def is_contiguous(self) -> bool:
        return self.layout.is_contiguous

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def get_device(self) -> int:
        return -1 if self.is_cpu else self.device.index

    def is_set_to(self, tensor: View) -> bool:
        if not isinstance(tensor, View):
            kind = type(tensor).__name__
            raise TypeError(
                f"is_set_to(): argument 'tensor' (position 1) must be Tensor, not {kind}"
            )
        return self.storage is tensor.storage and self.layout is tensor.layout

    def data_ptr(self) -> int:
        """An address of the first element: stable, and equal for tensors that share it."""
        return address(self.storage) + self.layout.offset * self.dtype.itemsize


def address(storage: Storage) -> int:
    value = storage.value
    if isinstance(value.buffer, np.ndarray):
        return value.buffer.__array_interface__["data"][0]
    return id(memory_of(storage))
