"""Scalar: what a tensor of a single element is to Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.backend import backend
from wgtorch.dtype import bfloat16
from wgtorch.errors import ShapeError
from wgtorch.storage import View


class Scalar(View):
    """A tensor as a number: `bool(x)`, `int(x)`, `float(x)`, `x.item()`, `list[x]`."""

    __slots__ = ()

    def __bool__(self) -> bool:
        if self.layout.numel != 1:
            what = "no values" if not self.layout.numel else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        if self.storage.value.device.level:
            self.storage.value.device.backend.check_truth(self)
        return bool(self.item())

    def is_nonzero(self) -> bool:
        """Whether the only element is not 0; waits for it."""
        return bool(self)

    def item(self) -> Any:
        if self.layout.numel != 1:
            raise ShapeError(
                f"a Tensor with {self.layout.numel} elements cannot be converted to Scalar"
            )
        return self._one().item()

    def _one(self) -> np.ndarray:
        array = backend(self.storage.value.device).download(self)
        return array.astype(np.float32) if self.dtype is bfloat16 else array

    def __int__(self) -> int:
        return int(real(self._only(), "int64_t"))

    def __float__(self) -> float:
        return float(real(self._only(), "double"))

    def _only(self) -> Any:
        if self.layout.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __complex__(self) -> complex:
        return complex(self._only())

    def __index__(self) -> int:
        if self.dtype.category > 1 or self.layout.numel != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())


def real(value: Any, kind: str) -> Any:
    """A number that has no imaginary part."""
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return value.real
    return value
