"""Grids: index tensors made from nothing but sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.create import made, place
from wgtorch.dtype import DType, int64
from wgtorch.errors import with_room
from wgtorch.integers import integer
from wgtorch.tensor import Tensor


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DType = int64,
                 device: Any = None) -> Tensor:  # fmt: skip
    """The places on and below a diagonal of a `row` x `col` matrix: a row and a column index."""
    return triangle("tril_indices", row, col, offset, dtype, device)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DType = int64,
                 device: Any = None) -> Tensor:  # fmt: skip
    """The places on and above a diagonal of a `row` x `col` matrix: a row and a column index."""
    return triangle("triu_indices", row, col, offset, dtype, device)


@with_room
def triangle(name: str, row: int, col: int, offset: int, dtype: DType, device: Any) -> Tensor:
    sizes = [("row", row), ("col", col), ("offset", offset)]
    row, col, offset = [integer(name, n, size, i) for i, (n, size) in enumerate(sizes, 1)]
    for what, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{what} must be non-negative, got{size}")
    offset = max(-row, min(offset, col))
    return made(np.stack(getattr(np, name)(row, offset, col)), dtype, place(device), False)
