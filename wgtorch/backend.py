"""The contract a backend signs, the register of those that have, and what may stand before them.

One method per *kind* of op, so a new op needs no new method and a new backend only these twelve.
Shapes and dtypes are settled before: a backend is told where its result goes.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Protocol, runtime_checkable

import numpy as np

from wgtorch.device import Device
from wgtorch.dtype import DType
from wgtorch.layout import Layout
from wgtorch.op import Draw
from wgtorch.settled import Call, Fold, TypedOp
from wgtorch.storage import Storage, Value, View

Attrs = dict[str, Any]


@runtime_checkable
class Backend(Protocol):
    device: Device

    def upload(self, array: np.ndarray, dtype: DType) -> Value:
        """A Value of its own with the elements of `array`, row by row."""

    def download(self, view: View) -> np.ndarray:
        """The view's elements as numpy; waits for them. The cpu shares its memory."""

    def send(self, value: Value, to: Backend) -> Value: ...

    def elementwise(
        self, typed: TypedOp, args: tuple[View | float, ...], attrs: Attrs, out: Layout
    ) -> Value: ...

    def draw(self, op: Draw, seed: int, offset: int, out: Layout) -> Value:
        """Random numbers: as many words of the draw (seed, offset) as `out` has elements."""

    def source(self, view: View) -> Any:
        """What a reduction reads of a view, holding no more of it than that."""

    def reduction(self, fold: Fold, source: Any) -> Any:
        """A Value, or a tuple of them where the op has several results."""

    def structured(self, call: Call, args: tuple) -> tuple[Value, ...]: ...

    def assign(self, storage: Storage, layout: Layout, source: View) -> None:
        """Puts a Value into `storage` that has `source` where `layout` points.

        `source` has the layout's shape and the storage's dtype and device; who calls is in a turn.
        """

    def reseen(self, value: Value, dtype: DType) -> Value:
        """The same memory as elements of another dtype."""

    def synchronize(self) -> None: ...

    def explain(self, view: View) -> str: ...


_opening = RLock()
factories: dict[str, Callable[[Device], Backend]] = {}


def register(kind: str, factory: Callable[[Device], Backend]) -> None:
    """Makes `device(kind)` exist; `factory` runs when it is first used."""
    factories[kind] = factory
    if kind not in Device.types:
        Device.types.append(kind)


def backend(device: Device) -> Backend:
    if device.backend is None:
        with _opening:  # of two threads that need it, one opens it
            if device.backend is None:
                made = factories[device.type](device)
                for maker in fronts:
                    made = fronted(device, made, maker)
                device.backend = made
    return device.backend


def opened(kind: str = "") -> list[Device]:
    """The devices, of one type or of any, that were ever used."""
    known = [d for d in Device._known.values() if d.backend is not None]
    return [d for d in known if kind in ("", d.type)]


# Fronts


class Front:
    """Stands before a backend, and passes on what it does not do itself."""

    maker: Any = None  # who put it there

    def __init__(self, home: Any):
        self.home = home

    def __getattr__(self, name: str) -> Any:
        return getattr(self.home, name)


Maker = Callable[[Device, Any], Any]  # a backend with a Front before it, or as it is
fronts: list[Maker] = []


def put_before(maker: Maker) -> Callable[[], None]:
    """Puts fronts before the backends of all devices, opened or not yet. What comes back takes them
    away again, in whatever order several go."""
    with _opening:
        fronts.append(maker)
        for device in opened():
            device.backend = fronted(device, device.backend, maker)

    def undo() -> None:
        with _opening:
            fronts.remove(maker)
            for device in opened():
                device.backend = without(device.backend, maker)

    return undo


def fronted(device: Device, home: Any, maker: Maker) -> Any:
    made = maker(device, home)
    if made is not home:
        made.maker = maker
    return made


def without(backend: Any, maker: Maker) -> Any:
    """A backend less the front of that maker, wherever it stands."""
    if not isinstance(backend, Front):
        return backend
    if backend.maker is maker:
        return backend.home
    backend.home = without(backend.home, maker)
    return backend


def fulfil(view: View) -> None:
    """Has what is promised made now, as one kernel, so that nothing of it waits for a reader."""
    value = view.storage.value
    if value.promise is not None and hasattr(value.device.backend, "fill"):
        value.device.backend.fill(value)
