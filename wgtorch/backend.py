"""The contract a backend signs, and the register of those that have.

One method per *kind* of op, so a new op needs no new method and a new backend only these eleven.
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

        `source` has the layout's shape and the storage's dtype and device.
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
                device.backend = factories[device.type](device)
    return device.backend


def opened(kind: str = "") -> list[Device]:
    """The devices, of one type or of any, that were ever used."""
    known = [d for d in Device._known.values() if d.backend is not None]
    return [d for d in known if kind in ("", d.type)]


def fulfil(view: View) -> None:
    """Has what is promised made now, as one kernel, so that nothing of it waits for a reader."""
    value = view.storage.value
    if value.promise is not None and hasattr(value.device.backend, "fill"):
        value.device.backend.fill(value)
