"""Results are tensors of what ops made, each in a storage of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch import storage as storages
from wgtorch.layout import Layout
from wgtorch.storage import Storage, Value

new = object.__new__


def maker(tensor: type) -> Callable[[Value, Layout], Any]:
    """`tensor(Storage(value), layout)` without two calls of classes: these alone would take as long
    as a fused op."""

    def made(value, layout):
        storage = new(Storage)
        storage.value = value
        storage.version = 0
        if storages.first_version is not None:
            storage.version = storages.first_version()
        storage.writes = 0
        storage.shared = False
        out = new(tensor)
        out.storage = storage
        out.layout = layout
        out._wants = False
        out.past = None
        return out

    return made
