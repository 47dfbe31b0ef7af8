"""Ones and zeros that cost no upload: one element for each device and dtype, read many times."""

from __future__ import annotations

from typing import Any

from wgtorch.layout import Layout
from wgtorch.storage import Storage

_known: dict[tuple, tuple[Any, Any]] = {}  # with the backend: a lost device takes its Values along


def element(like: Any, number: int) -> Any:
    """The Value with that one number, on the device and of the dtype of `like`."""
    value = like.storage.value
    device = value.device.root if value.device.level >= 1 else value.device
    key, backend = (device, value.dtype, number), device.backend
    known = _known.get(key)
    if known is None or known[0] is not backend:
        made = like.new_full((), number, dtype=value.dtype.plain, device=device)
        known = _known[key] = backend, made.storage.value
    # a Value of a transform ends with it
    return known[1] if device is value.device else value.device.backend.held(known[1])


def repeated(like: Any, number: int) -> Any:
    """`number` in the shape of `like`; not to be written into."""
    shape = like.layout.shape
    return like.over(Storage(element(like, number)), Layout.of(shape, (0,) * len(shape), 0))
