"""Types: what arguments may be, by name, for annotations in programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Literal, Protocol

import numpy as np

from wgtorch.device import Device
from wgtorch.dtype import DType
from wgtorch.layout import Layout
from wgtorch.size import Size
from wgtorch.tensor import Tensor

Number = bool | int | float | complex
Shape = Size
DeviceType = Literal["cpu", "webgpu", "meta"]  # or the name of one that was registered
DeviceLike = str | int | Device | None
DeviceInput = DeviceLike
TypedArray = np.ndarray
TensorLike = Tensor | np.ndarray | Number | Sequence
TensorData = np.ndarray | Number | Sequence

# What stands in x[...]
SliceSpec = slice
RangeSpec = range
MaskSpec = Tensor | np.ndarray | Sequence
IndicesSpec = Tensor | np.ndarray | Sequence
IndexSpec = int | slice | range | EllipsisType | Tensor | np.ndarray | Sequence | None

# What einsum and einops take
SublistElement = int | EllipsisType
Sublist = list[SublistElement]
SubscriptIndex = int  # from 0 to 51
AxesRecord = dict[str, int]
ReduceOperation = Literal["sum", "mean", "max", "min", "prod", "any", "all"] | Callable


class TensorCreator(Protocol):
    """What makes a tensor of a shape, as `torch.zeros` does."""

    def __call__(self, *size: Any, dtype: DType | None = None, device: Any = None) -> Tensor: ...


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
