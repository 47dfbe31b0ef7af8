"""Contents: what a pack function returned, looked into, whoever made it and however it is nested.

An object of a pair may say what it is by methods: `holdings()` tells its memory, for one that has
put its tensor elsewhere; `inside()` gives what it stands around, for one that another pair's
result is in; `mapped(function)` makes it again with `function` of each part. One that is going to
be elsewhere later has a list `watchers`, and says by `moved` that it is. Of others, containers
and attributes are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wgtorch.autograd.parameters import is_parameter_memory
from wgtorch.storage import View, memory_of

Holding = tuple[str, Any, int]  # (place, what tells this memory from another, bytes)


def holdings(packed: Any, movers: list | None = None, depth: int = 3) -> Iterator[Holding]:
    """The memory that it keeps alive, but for live parameters'.

    With `movers`, as a ledger asks: those that will move are put there, and slots within, which
    are in the ledger themselves, are left out.
    """
    if isinstance(packed, View):
        value = memory_of(packed.storage).value
        if not is_parameter_memory(packed):
            yield "host" if value.device.type == "cpu" else "device", id(value), value.nbytes
        return
    kind = type(packed)
    if kind in (str, int, float, bool) or packed is None:
        return
    if movers is not None and hasattr(packed, "watchers"):
        movers.append(packed)
    if kind in (bytes, bytearray, np.ndarray):
        nbytes = packed.nbytes if kind is np.ndarray else len(packed)
        yield "host", id(packed), nbytes
    elif hasattr(kind, "holdings"):
        yield from packed.holdings()
    elif hasattr(kind, "inside"):
        for part in packed.inside():
            yield from holdings(part, movers, depth)
    elif getattr(kind, "is_slot", False):
        if movers is None:
            yield from holdings(packed.packed)
    elif depth:
        for part in parts_of(packed):
            yield from holdings(part, movers, depth - 1)


def moved(packed: Any) -> None:
    """Has all accounts written anew in which this object is."""
    for reference in list(packed.watchers):
        entry = reference()
        if entry is not None:
            entry.renew()


def parts_of(packed: Any) -> Sequence[Any]:
    """The members of a container, or the attributes of an object."""
    if isinstance(packed, tuple | list | set):
        return list(packed)
    if isinstance(packed, dict):
        return list(packed.values())
    names = getattr(type(packed), "__slots__", ())
    names = (names,) if isinstance(names, str) else names
    parts = [getattr(packed, name, None) for name in names]
    return parts + list(getattr(packed, "__dict__", {}).values())


def mapped(packed: Any, function: Callable, kind: type = View) -> Any:
    """A container again, with `function` of each `kind` in it; others as they are."""
    if isinstance(packed, kind):
        return function(packed)
    if hasattr(type(packed), "mapped"):
        return packed.mapped(lambda part: mapped(part, function, kind))
    if isinstance(packed, tuple | list):
        parts = [mapped(part, function, kind) for part in packed]
        return type(packed)(*parts) if hasattr(packed, "_fields") else type(packed)(parts)
    if isinstance(packed, dict):
        return {name: mapped(part, function, kind) for name, part in packed.items()}
    return packed


def innermost(packed: Any) -> Iterator[Any]:
    """What it is, or what it stands around, however often."""
    if hasattr(type(packed), "inside"):
        for part in packed.inside():
            yield from innermost(part)
    else:
        yield packed


def keeps(packed: Any, storage: Any) -> bool:
    """Whether it is a tensor of this storage, or stands around one for good. What is in a list or
    a dict is for those to say who packed it."""
    if isinstance(packed, View):
        return packed.storage is storage
    kind = type(packed)
    if kind is tuple:
        return any([keeps(part, storage) for part in packed])
    lasting = hasattr(kind, "inside") and hasattr(kind, "mapped")
    return lasting and any([keeps(part, storage) for part in packed.inside()])


def fulfil(packed: Any, own: Any = None) -> None:
    """What was made is made now: as a promise it would hold on to what it stands for.

    `own` is the Value that was packed, which need not be there yet.
    """
    if isinstance(packed, View):
        value = packed.storage.value
        if value is not own and value.promise is not None and hasattr(value.device.backend, "fill"):
            value.device.backend.fill(value)
    elif isinstance(packed, tuple | list):
        for part in packed:
            fulfil(part, own)
    elif isinstance(packed, dict):
        fulfil(list(packed.values()), own)
    elif hasattr(type(packed), "inside"):
        fulfil(list(packed.inside()), own)
