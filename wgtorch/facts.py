"""What a tensor says of itself without looking at its data: shape, dtype, device, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.constants import MemoryFormat, channels_last, channels_last_3d, contiguous_format
from wgtorch.device import Device
from wgtorch.layout import wrap_real_dim
from wgtorch.size import Size
from wgtorch.storage import Storage, View, memory_of

CHANNELS_LAST = {channels_last: 4, channels_last_3d: 5}  # the dimensions that they are of


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

    def is_contiguous(self, *, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie in the order of their indices, or, for channels_last (of 4
        dimensions) and channels_last_3d (of 5), with dimension 1 as the innermost."""
        if memory_format is contiguous_format:
            return self.layout.is_contiguous
        if type(memory_format) is not MemoryFormat:
            kind = type(memory_format).__name__
            raise TypeError(
                f"is_contiguous(): argument 'memory_format' must be torch.memory_format, not {kind}"
            )
        rank = CHANNELS_LAST.get(memory_format)
        if rank is None:
            return self.layout.is_contiguous
        return self.ndim == rank and self.layout.has_channels_last

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
