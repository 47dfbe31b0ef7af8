"""A backend with kernels of users in front: each op asks them first, then the backend behind.

It stands in a device's place only while that device has such kernels; without them no op pays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from wgtorch.backend import factories
from wgtorch.device import Device
from wgtorch.settled import Call
from wgtorch.storage import Storage, Value, View


class Front(Protocol):
    """A kernel, as a backend sees it."""

    def takes(self, call: Call, args: tuple) -> bool: ...

    def run(self, home: Any, call: Call, args: tuple) -> tuple[Value, ...]: ...


class Overridden:
    """What it has no kernel for goes straight to the backend behind."""

    def __init__(self, home: Any, find: Callable[[str, Call, tuple], Front | None]):
        self.home, self.find = home, find

    def __getattr__(self, name: str) -> Any:
        return getattr(self.home, name)

    def elementwise(self, typed, args, attrs, out):
        layouts = tuple([a.layout if isinstance(a, View) else None for a in args])
        dtypes = tuple([a.dtype if isinstance(a, View) else None for a in args])
        call = Call(typed.op, layouts, dtypes, attrs, (out,), (typed.dtype,))
        front = self.find(typed.op.name, call, args)
        if front is None:
            return self.home.elementwise(typed, args, attrs, out)
        return front.run(self.home, call, args)[0]

    def source(self, view):
        return View(Storage(view.storage.value), view.layout)

    def reduction(self, fold, source):
        outs = (fold.out,) * len(fold.dtypes)
        call = Call(fold.op, (source.layout,), (source.dtype,), fold.attrs, outs, fold.dtypes)
        front = self.find(fold.op.name, call, (source,))
        if front is None:
            return self.home.reduction(fold, self.home.source(source))
        values = front.run(self.home, call, (source,))
        return values if fold.op.outputs else values[0]

    def structured(self, call, args):
        front = self.find(call.op.name, call, args)
        if front is None:
            return self.home.structured(call, args)
        return front.run(self.home, call, args)


Find = Callable[[str, Call, tuple], Front | None]


def override(kind: str, find: Find) -> None:
    """Lets `find` answer first for the ops of all devices of a type, opened or not yet."""
    if kind in BEHIND:
        return
    factory = BEHIND[kind] = factories[kind]
    factories[kind] = lambda device: Overridden(factory(device), find)
    for device in opened(kind):
        device.backend = Overridden(device.backend, find)


def restore(kind: str) -> None:
    """The backends alone again."""
    factories[kind] = BEHIND.pop(kind)
    for device in opened(kind):
        device.backend = device.backend.home


def opened(kind: str) -> list[Device]:
    known = Device._known.values()
    return [d for d in known if d.type == kind and d.backend is not None]


BEHIND: dict[str, Callable] = {}  # the factories that are overridden, by device type
