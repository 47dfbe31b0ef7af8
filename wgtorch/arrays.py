"""Arrays: what numpy makes of Python's data, with the dtypes and complaints that are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch import dtype as dtypes
from wgtorch.dtype import DType, int64
from wgtorch.layout import Layout
from wgtorch.storage import View


def as_array(data: Any) -> tuple[np.ndarray, DType]:
    """numpy's view of `data`, and the dtype PyTorch would give it."""
    if isinstance(data, np.ndarray | np.generic):
        return np.asarray(data), dtypes.from_numpy(data.dtype)
    if isinstance(data, bool | int | float | complex):
        kind = dtypes.of_number(type(data))
        return np.asarray(dtypes.fitting(data, kind, kind.name) if kind is int64 else data), kind
    if hasattr(data, "__array__"):
        array = np.asarray(data)
        return array, dtypes.from_numpy(array.dtype)
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not isinstance(data, list | tuple | range):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    leaves = [t.item() if isinstance(t, View) and not t.layout.shape else t for t in data]
    if any(isinstance(t, View) for t in leaves):
        leaves = [t.tolist() if isinstance(t, View) else t for t in leaves]
    try:
        array = np.asarray(leaves)
    except ValueError:
        raise ValueError(uneven(leaves)) from None
    if array.dtype.kind in "USOu" and not has_numpy(leaves):
        array = settled(leaves, array)
    if not array.size or (array.dtype.kind in "fc" and not has_numpy(leaves)):
        natural = dtypes.get_default_dtype()
        return array, natural.to_complex() if array.dtype.kind == "c" else natural
    return array, dtypes.from_numpy(array.dtype)


def settled(data: Any, array: np.ndarray) -> np.ndarray:
    """What numpy took for objects: integers beyond int64, or things that are no numbers."""
    flat = array.reshape(-1).tolist()
    for odd in flat:
        if isinstance(odd, str | bytes):
            raise TypeError(f"new(): invalid data type '{type(odd).__name__}'")
        if not isinstance(odd, bool | int | float | complex | np.generic):
            raise RuntimeError(f"Could not infer dtype of {type(odd).__name__}")
    raise ValueError("Overflow when unpacking long long")


def has_numpy(data: Any) -> bool:
    """Whether the first leaf is numpy's, whose dtype then counts."""
    while isinstance(data, list | tuple) and data:
        data = data[0]
    return isinstance(data, np.generic | np.ndarray)


def uneven(data: Any, dim: int = 0) -> str:
    """PyTorch's complaint about a ragged list."""
    sizes = [len(row) if isinstance(row, list | tuple) else None for row in data]
    for row, size in zip(data, sizes, strict=True):
        if size != sizes[0]:
            return f"expected sequence of length {sizes[0]} at dim {dim + 1} (got {size})"
        if isinstance(row, list | tuple) and row and isinstance(row[0], list | tuple):
            return uneven(row, dim + 1)
    return "the sequence is ragged"


def check_fits(array: np.ndarray, dtype: DType, wraps: bool) -> None:
    """Refuses what no integer says: NaN, infinities, and of Python's numbers the too large."""
    if array.dtype.kind == "f" or not wraps:
        ends = array.min(), array.max()
        if wraps and np.isfinite(ends).all():
            return
        for end in ends:
            dtypes.fitting(end.item(), dtype, dtype.name)


def real_parts(array: np.ndarray) -> np.ndarray:
    if array.imag.any():
        raise TypeError("must be real number, not complex")
    return array.real


def as_index(data: Any) -> np.ndarray:
    """What numpy's arrays and nested sequences are as an index: masks, or else of int64."""
    known = isinstance(data, np.ndarray) and data.dtype.kind in "biufc"
    array = data if known else as_array(data)[0]
    if array.dtype in (np.bool_, np.uint8, np.int64):
        return array
    if array.dtype.kind == "c":
        array = array.real if known else real_parts(array)
    if array.size and not known:
        check_fits(array, int64, False)
    with np.errstate(invalid="ignore"):  # beyond int64, which no index is within
        return array.astype(np.int64)


def seen(flat: np.ndarray, layout: Layout, whole: bool = False) -> np.ndarray:
    """What lies under a layout in flat memory; `whole` says that it is all, row by row."""
    if whole:
        return flat.reshape(layout.shape)
    if not layout.numel:
        return np.empty(layout.shape, flat.dtype)
    size = flat.itemsize
    strides = [stride * size for stride in layout.strides]
    return np.ndarray(layout.shape, flat.dtype, flat, layout.offset * size, strides)
