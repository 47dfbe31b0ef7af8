"""Types: what arguments may be, by name, for annotations in programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Literal

import numpy as np

from wgtorch.buffers import CPUStorage, WebGPUStorage
from wgtorch.device import Device
from wgtorch.dtype import DType
from wgtorch.indexing import IndexSpec, IndicesSpec, MaskSpec, RangeSpec, SliceSpec
from wgtorch.layout import Layout
from wgtorch.size import Size
from wgtorch.tensor import Tensor
from wgtorch.typing import Number, ShapedTensor, TensorCreator, TensorLike

Shape = Size
DeviceType = Literal["cpu", "webgpu", "meta"]  # or the name of one that was registered
DeviceLike = str | int | Device | None
DeviceInput = DeviceLike
TypedArray = np.ndarray
TensorData = CPUStorage | WebGPUStorage | np.ndarray | Number | Sequence

__all__ = [
    "AxesRecord", "DeviceInput", "DeviceLike", "DeviceType", "IndexSpec", "IndicesSpec", "MaskSpec",
    "Number", "RangeSpec", "ReduceOperation", "Shape", "ShapedTensor", "SliceSpec", "Sublist",
    "SublistElement", "SubscriptIndex", "TensorCreator", "TensorData", "TensorLike", "TensorMeta",
    "TypedArray",
]  # fmt: skip

# What einsum and einops take
SublistElement = int | EllipsisType
Sublist = list[SublistElement]
SubscriptIndex = int  # from 0 to 51
AxesRecord = dict[str, int]
ReduceOperation = Literal["sum", "mean", "max", "min", "prod", "any", "all"] | Callable


@dataclass(frozen=True)
class TensorMeta:
    """All that a tensor is but its data."""

    shape: Size
    strides: tuple[int, ...]
    offset: int
    dtype: DType
    device: Device

    @classmethod
    def of(cls, tensor: Tensor) -> TensorMeta:
        layout: Layout = tensor.layout
        return cls(tensor.shape, layout.strides, layout.offset, tensor.dtype, tensor.device)
