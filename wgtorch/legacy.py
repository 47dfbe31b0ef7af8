"""Tensor types by name, as older programs write them: `torch.FloatTensor`, `torch.Tensor(2, 3)`.

`torch.Tensor` itself is the class of all tensors; called by a user it makes one of the default
dtype, of a size or of data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.create import empty, tensor
from wgtorch.device import Device
from wgtorch.dtype import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
)  # fmt: skip
from wgtorch.settings import LEGACY
from wgtorch.storage import View
from wgtorch.tensor import Tensor

DTYPES = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64)


class TensorType:
    """`FloatTensor`: the dtype of tensors on the cpu, callable and good for `isinstance`."""

    __slots__ = ("dtype", "name")

    def __init__(self, dtype: DType):
        self.dtype, self.name = dtype, f"{dtype.short}Tensor"

    def __call__(self, *args: Any, device: Any = None) -> Tensor:
        if len(args) == 1 and isinstance(args[0], Tensor) and not self.__instancecheck__(args[0]):
            raise TypeError(f"expected torch.{self.name} (got {args[0].type()})")
        return built(self.dtype, args, device)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.is_cpu and instance.dtype is self.dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.name}'>"


def built(dtype: DType, args: tuple, device: Any = None) -> Tensor:
    """What `Tensor(*args)` is: of no size, of a size, or of data."""
    place = Device("cpu" if device is None else device)
    if not args or all(isinstance(a, int | np.integer) and type(a) is not bool for a in args):
        return empty(*(args or (0,)), dtype=dtype, device=place)
    if len(args) > 1:
        raise TypeError(f"new(): sizes must be ints, but found {args}")
    (data,) = args
    if isinstance(data, View):
        return data.detach()  # type: ignore[attr-defined]
    if type(data).__name__ == "Size":
        return empty(data, dtype=dtype, device=place)
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not hasattr(data, "__len__") or isinstance(data, dict | set | frozenset):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return tensor(data, dtype=dtype, device=place)


def new_tensor(self: Tensor, args: tuple) -> None:
    """What `Tensor.__init__` does with what a user gives it."""
    made = built(get_default_dtype(), args)
    self.storage, self.layout, self._wants, self.past = made.storage, made.layout, False, None


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """Of the dtype and on the device of this tensor: a size, or data."""
    return built(self.dtype, args, device or self.device)


Tensor.new_from = staticmethod(new_tensor)  # type: ignore[attr-defined]
Tensor.new = new  # type: ignore[assignment, method-assign]
TYPES = {kind.name: kind for kind in map(TensorType, DTYPES)}
LEGACY.update({name: kind.dtype for name, kind in TYPES.items()})
