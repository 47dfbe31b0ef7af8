"""Constants that PyTorch's namespace has: numbers, and words for orders of elements in memory."""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import Any

from wgtorch.layout import Layout

newaxis = None
__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "e", "inf", "nan", "newaxis", "pi",
    "preserve_format", "sparse_coo", "strided",
]  # fmt: skip


class Word:
    """A name that PyTorch has for a thing."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class MemoryFormat(Word):
    """An order of elements in memory. All tensors here are made in the order of their indices."""

    __slots__ = ()


class LayoutKind(Word):
    """How elements lie in memory. All tensors here are strided: the layout of each, which also
    says by what strides, equals `torch.strided`."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other or (self is strided and type(other) is Layout)


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
strided = LayoutKind("strided")
sparse_coo = LayoutKind("sparse_coo")


def check_strided(op: str, layout: object) -> None:
    """ValueError for what is asked to be sparse."""
    if layout is not None and layout != strided:
        raise ValueError(f"{op} is implemented for strided tensors only, got: {layout}")


def check_named(op: str, named: dict[str, Any]) -> None:
    """TypeError for what no factory takes; what says how memory is laid out changes nothing."""
    check_strided(op, named.pop("layout", None))
    for word in ("pin_memory", "memory_format", "names"):
        named.pop(word, None)
    if named:
        raise TypeError(f"{op}() got an unexpected keyword argument '{next(iter(named))}'")
