"""Grids: index tensors made from nothing but sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.create import made, place
from wgtorch.dtype import DType, int64
from wgtorch.tensor import Tensor


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DType = int64,
                 device: Any = None) -> Tensor:  # fmt: skip
    """The places on and below a diagonal of a `row` x `col` matrix: a row and a column index."""
    return triangle(np.tril_indices, row, col, offset, dtype, device)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DType = int64,
                 device: Any = None) -> Tensor:  # fmt: skip
    """The places on and above a diagonal of a `row` x `col` matrix: a row and a column index."""
    return triangle(np.triu_indices, row, col, offset, dtype, device)


def triangle(indices: Any, row: int, col: int, offset: int, dtype: DType, device: Any) -> Tensor:
    for name, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{name} must be non-negative, got{size}")
    return made(np.stack(indices(row, offset, col)), dtype, place(device), False)
