"""The shape of a tensor, as PyTorch shows it: a tuple that knows its number of elements."""

from __future__ import annotations

from math import prod
from typing import Any


class Size(tuple):
    __slots__ = ()

    def numel(self) -> int:
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))
