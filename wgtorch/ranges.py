"""Ranges: numbers in a row, from one to another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wgtorch.create import filling, made, place
from wgtorch.dtype import DType, asked, get_default_dtype, int64
from wgtorch.scalar import real
from wgtorch.tensor import Tensor

__all__ = ["arange", "linspace", "logspace"]


@filling
def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: DType | None = None,
           device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """From `start` (0) up to `end`, which is left out, by `step`."""
    if end is None:
        start, end = 0, start
    start, end, step = [real(v, "double") for v in (start, end, step)]
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not math.isfinite(start) or not math.isfinite(end):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is not None and asked(dtype).is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtype.short}'")
    floating = any(isinstance(v, float) for v in (start, end, step))
    dtype = dtype or (get_default_dtype() if floating else int64)
    count = math.ceil((end - start) / step)
    if count >= 1 << 60:
        raise RuntimeError(f"invalid size, possible overflow? arange of {count} numbers")
    if dtype is int64:
        start, end, step = int(start), int(end), int(step)
        if not step:
            raise ValueError("step must be nonzero")
        count = max(0, -(-(end - start) // step))
    elif dtype.category < 2:
        start, step = int(start), int(step)
    kind = np.float64 if dtype.category > 1 else np.int64
    return made(start + step * np.arange(count, dtype=kind), dtype, place(device), requires_grad)


def spaced(name: str, ends: tuple[Any, Any], steps: int, dtype: DType, by: Any) -> np.ndarray:
    """`steps` numbers of a dtype between two ends, each counted from the nearer one, `by` a type
    of numpy's."""
    if isinstance(steps, float):
        given = ", ".join([type(v).__name__ for v in (*ends, steps)])
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({given}), but expected"
            " an int for `steps`"
        )
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype.category == 0:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtype.short}'")
    if any([isinstance(v, Tensor) and v.layout.shape for v in ends]):
        sizes = [f"{word} with {v.ndim} dimension(s)" for word, v in zip(("start", "end"), ends,
                 strict=True) if isinstance(v, Tensor)]  # fmt: skip
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got"
            f" {' and '.join(sizes)}."
        )
    first, last = [v.item() if isinstance(v, Tensor) else v for v in ends]
    for what, value in (("start", first), ("end", last)):
        if not isinstance(value, int | float | complex | np.generic):
            raise TypeError(
                f"{name}(): argument '{what}' must be Number, not {type(value).__name__}"
            )
    if steps == 1:
        return np.array([by(first)])
    first, last = [by(dtype.np.type(v)) for v in (first, last)]
    places = np.arange(steps)
    step = (last - first) / by(max(steps - 1, 1))
    up, down = first + step * places.astype(by), last - step * places[::-1].astype(by)
    return np.where(places < steps // 2, up, down)


def natural(*numbers: Any) -> DType:
    """The default dtype, complex where a number is."""
    kind = get_default_dtype()
    is_complex = [isinstance(v, complex) or (isinstance(v, Tensor) and v.dtype.is_complex)
                  for v in numbers]  # fmt: skip
    return kind.to_complex() if any(is_complex) else kind


@filling
def linspace(start: float, end: float, steps: int, *, dtype: DType | None = None,
             device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`steps` numbers, evenly spaced from `start` to `end`, which may be 0-d tensors."""
    kind = asked(dtype or natural(start, end))
    by = complex if kind.is_complex else kind.np.type if kind.itemsize == 2 else np.float64
    array = spaced("linspace", (start, end), steps, kind, by)
    return made(array, kind, place(device), requires_grad)


@filling
def logspace(start: float, end: float, steps: int, base: float = 10.0, *,
             dtype: DType | None = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`steps` numbers from base**start to base**end, evenly spaced on a logarithmic scale."""
    kind = asked(dtype or natural(start, end, base))
    by = np.complex128 if kind.is_complex else np.float64
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        array = base ** spaced("logspace", (start, end), steps, kind, by)
    return made(array, kind, place(device), requires_grad)
