"""Windows: weights that fade a piece of a signal in and out. Computed in float64 on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch.create import made, place
from wgtorch.dtype import DType, asked, get_default_dtype
from wgtorch.errors import with_room
from wgtorch.tensor import Tensor

C_TYPES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int",
           "int32": "int", "int64": "long int"}  # fmt: skip


def made_of(name: str, size: int, periodic: bool, shape: Callable, dtype: DType | None,
            device: Any, requires_grad: bool) -> Tensor:  # fmt: skip
    """`shape` at `size` places from 0 to 1; a periodic window leaves out the last of one more."""
    if not isinstance(size, int):
        raise TypeError(
            f"{name}(): argument 'window_length' (position 1) must be int, not"
            f" {type(size).__name__}"
        )
    dtype = asked(dtype or get_default_dtype())
    if size < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={size}")
    if not dtype.is_floating_point:
        if dtype.is_complex:
            raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtype.short}'")
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={C_TYPES[dtype.name]},"
            " device=cpu, layout=Strided (default), requires_grad=false (default),"
            " pinned_memory=false, memory_format=(nullopt))"
        )
    array = sampled(size, periodic, shape)
    return made(array, dtype, place(device), requires_grad)


@with_room
def sampled(size: int, periodic: bool, shape: Callable) -> np.ndarray:
    if size < 2:
        return np.ones(size)
    steps = size if periodic else size - 1
    return shape(np.arange(size) / steps)


def cosines(*weights: float) -> Callable:
    """A sum of cosines with alternating signs."""

    def shape(x):
        return sum(w * (-1) ** k * np.cos(2 * np.pi * k * x) for k, w in enumerate(weights))

    return shape


def kaiser(beta: float) -> Callable:
    def shape(x):
        return np.i0(beta * np.sqrt(np.maximum(0, 1 - (2 * x - 1) ** 2))) / np.i0(beta)

    return shape


def triangle(x: np.ndarray) -> np.ndarray:
    return 1 - np.abs(2 * x - 1)


def bartlett_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None,
                    layout: Any = None, device: Any = None,
                    requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A triangle: 1 - |2 n / (N - 1) - 1|."""
    return made_of("bartlett_window", window_length, periodic, triangle, dtype, device,
                   requires_grad)  # fmt: skip


def blackman_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None,
                    layout: Any = None, device: Any = None,
                    requires_grad: bool = False) -> Tensor:  # fmt: skip
    """0.42 - 0.5 cos(2 pi n / (N - 1)) + 0.08 cos(4 pi n / (N - 1))."""
    return made_of("blackman_window", window_length, periodic, cosines(0.42, 0.5, 0.08), dtype,
                   device, requires_grad)  # fmt: skip


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54,
                   beta: float = 0.46, *, dtype: DType | None = None, layout: Any = None,
                   device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """alpha - beta cos(2 pi n / (N - 1))."""
    return made_of("hamming_window", window_length, periodic, cosines(alpha, beta), dtype, device,
                   requires_grad)  # fmt: skip


def hann_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None,
                layout: Any = None, device: Any = None,
                requires_grad: bool = False) -> Tensor:  # fmt: skip
    """sin(pi n / (N - 1)) ** 2."""
    return made_of("hann_window", window_length, periodic, cosines(0.5, 0.5), dtype, device,
                   requires_grad)  # fmt: skip


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *,
                  dtype: DType | None = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False) -> Tensor:  # fmt: skip
    """I0(beta sqrt(1 - (2 n / (N - 1) - 1) ** 2)) / I0(beta)."""
    return made_of("kaiser_window", window_length, periodic, kaiser(beta), dtype, device,
                   requires_grad)  # fmt: skip
