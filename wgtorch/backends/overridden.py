"""A backend with kernels of users in front: each op asks them first, then the backend behind.

It stands in a device's place only while that device has such kernels; without them no op pays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from wgtorch.backend import Front, put_before
from wgtorch.settled import Call
from wgtorch.storage import Storage, Value, View


class UserKernel(Protocol):
    """A kernel, as a backend sees it."""

    def takes(self, call: Call, args: tuple) -> bool: ...

    def run(self, home: Any, call: Call, args: tuple) -> tuple[Value, ...]: ...


Find = Callable[[str, Call, tuple], UserKernel | None]


class Overridden(Front):
    """What it has no kernel for goes straight to the backend behind."""

    def __init__(self, home: Any, find: Find):
        super().__init__(home)
        self.find = find

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


def override(kind: str, find: Find) -> None:
    """Lets `find` answer first for the ops of all devices of a type."""
    if kind not in UNDO:
        UNDO[kind] = put_before(
            lambda device, home: Overridden(home, find) if device.type == kind else home
        )


def restore(kind: str) -> None:
    """The backends alone again."""
    UNDO.pop(kind)()


UNDO: dict[str, Callable[[], None]] = {}  # of the device types that are overridden
