"""Parameter memory: which storages belong to a live parameter, known through any view of them."""

from __future__ import annotations

import weakref
from typing import Any

_owners: dict[int, weakref.ref] = {}  # id of a storage -> the parameter it belongs to


def adopt(parameter: Any) -> None:
    """Notes that a parameter's storage is its own; `is_parameter_memory` then knows its views."""
    key = id(parameter.storage)

    def forget(gone: weakref.ref) -> None:
        if _owners.get(key) is gone:
            del _owners[key]

    _owners[key] = weakref.ref(parameter, forget)


def parameter_of(value: Any) -> Any:
    """The live parameter whose memory this is, or None."""
    for owner in [*_owners.values()]:
        parameter = owner()
        if parameter is not None and parameter.storage.value is value:
            return parameter
    return None


def is_parameter_memory(tensor: Any) -> bool:
    """Whether the tensor is a live parameter or looks at the memory of one, through any view."""
    base = tensor if tensor._base is None else tensor._base
    if base.is_parameter:
        return True
    owner = _owners.get(id(tensor.storage))
    parameter = None if owner is None else owner()
    return parameter is not None and parameter.storage is tensor.storage
