"""Ones and zeros that cost no upload: one element for each device and dtype, read many times."""

from __future__ import annotations

from typing import Any

from wgtorch.layout import Layout
from wgtorch.storage import Storage

_known: dict[tuple, Any] = {}


def element(like: Any, number: int) -> Any:
    """The Value with that one number, on the device and of the dtype of `like`."""
    value = like.storage.value
    key = value.device, value.dtype, number
    if key not in _known:
        made = like.new_ones(()) if number else like.new_zeros(())
        _known[key] = made.storage.value
    return _known[key]


def repeated(like: Any, number: int) -> Any:
    """`number` in the shape of `like`; not to be written into."""
    shape = like.layout.shape
    return like.over(Storage(element(like, number)), Layout.of(shape, (0,) * len(shape)))
