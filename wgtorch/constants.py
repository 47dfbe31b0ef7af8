"""Constants that PyTorch's namespace has: numbers, and words for orders of elements in memory."""

from __future__ import annotations

from math import e, inf, nan, pi

newaxis = None
__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "e", "inf", "nan", "newaxis", "pi",
    "preserve_format",
]  # fmt: skip


class MemoryFormat:
    """An order of elements in memory. All tensors here are made in the order of their indices."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
