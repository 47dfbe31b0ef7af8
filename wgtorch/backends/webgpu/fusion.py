"""Which elementwise ops run together. Pure bookkeeping: nothing here touches a GPU.

An elementwise op on the GPU only makes a `Promise`. When somebody needs the value, the promise
and every unfulfilled promise under it become one `Program`, hence one kernel. An intermediate
is stored on the way exactly when its Value is still alive.

A Program knows its own structure as a flat `key` (ops, which operand is which, forms of layouts,
what is stored), so a compiled kernel is found without writing its text again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from operator import attrgetter
from typing import Any

import numpy as np

from wgtorch.config import DEBUG, trace
from wgtorch.dtype import DType
from wgtorch.layout import OFFSET, SINGLE, Layout
from wgtorch.op import Draw
from wgtorch.settled import TypedOp
from wgtorch.storage import Value

DRAWN = -1  # the form of an operand that is drawn, not read
JOINED = -2  # the form of an operand that the kernel has just computed
PUT_OFF = 1 << 20  # what a Deferred adds to sizes: far more than ops ever do
HEAVY = 1 << 40  # what a Load of a large buffer adds to sizes
next_age = count().__next__
by_age = attrgetter("age")


class Load:
    """An element of a filled buffer."""

    __slots__ = ("__weakref__", "buffer", "dtype", "form", "fours", "kind", "layout", "noted",
                 "numbers", "size")  # fmt: skip

    def __init__(self, buffer: Any, layout: Layout, dtype: DType):
        self.buffer, self.dtype = buffer, dtype
        self.layout = layout  # broadcast to the program's shape
        self.form, self.numbers, self.fours = 0, (), ""
        self.size = 0  # see Promise
        self.noted = False  # whether Holdings have counted it
        self.kind: Any = dtype  # what a kernel's text must know
        if not layout.is_plain:
            self.form, self.numbers = layout.form, layout.numbers
            if self.form == OFFSET:
                self.fours = "" if layout.offset % 4 else "quad"
            elif self.form > SINGLE:
                self.fours = layout.by_fours
            self.kind = (dtype, self.form, self.fours)

    @staticmethod
    def drawn(op: Draw, seed: int, offset: int, layout: Layout) -> Load:
        """Random numbers in place of a buffer."""
        load = Load(None, layout, op.dtype)
        words = (seed, seed >> 32, offset, offset >> 32)
        load.form, load.numbers = DRAWN, tuple([word & 0xFFFFFFFF for word in words])
        load.kind = (op, DRAWN)
        return load


class Promise:
    """The element `op` would compute."""

    __slots__ = ("age", "args", "attrs", "dtype", "filled", "layout", "size", "target", "typed")

    def __init__(
        self,
        typed: TypedOp,
        args: Sequence[Promise | Load | Deferred | float],
        attrs: dict[str, float],
        layout: Layout,
        target: Callable[[], Value | None] = lambda: None,
        size: int = 1,
    ):
        self.typed, self.args, self.attrs, self.layout = typed, args, attrs, layout
        self.dtype = typed.dtype
        self.target = target  # weak: who waits for the result
        # Ops that fulfilling this would fuse (shared ones counted again), PUT_OFF and HEAVY added
        self.size = size
        self.age = next_age()  # a promise is always younger than its operands
        self.filled: Load | None = None

    @property
    def is_constant(self) -> bool:
        """Made of numbers alone: cheaper to make again than to read."""
        return not any(isinstance(arg, Promise | Load) for arg in self.args)

    @property
    def number(self) -> Any:
        """What every element is, where that is one number; then it may be read in any layout."""
        if not self.typed.op.repeats or not self.is_constant:
            return None
        return np.asarray(self.args[0]).astype(self.dtype.np).item()  # integers wrap

    def keep(self, load: Load) -> None:
        """It is stored now; its operands may go."""
        self.filled, self.args, self.size = load, (), 0


class Deferred:
    """The result of a kernel whose launch is put off: elementwise ops that follow may end it.

    In a Program it stands among the loads, as the number that the kernel has just computed.
    """

    __slots__ = ("__weakref__", "buffers", "dtype", "kind", "layout", "load", "plan", "result",
                 "target")  # fmt: skip
    buffer, form, numbers, fours, size = None, JOINED, (), "", PUT_OFF  # as of a Load, a Promise
    number, is_constant = None, False

    def __init__(self, plan: Any, buffers: Sequence[Any], layout: Layout, dtype: DType):
        self.plan = plan  # how it is launched
        self.buffers = buffers  # what it reads
        self.layout, self.dtype, self.kind = layout, dtype, (dtype, JOINED)
        self.target: Callable[[], Value | None] = lambda: None  # weak: who waits for the result
        self.result: Any = None  # the buffer, once there is one
        self.load: Load | None = None

    def fulfil(self, value: Value) -> None:
        self.plan.fulfil(self)

    def keep(self, load: Load) -> None:
        """It is stored now; its operands may go."""
        self.result, self.load, self.buffers = load.buffer, load, ()

    def read_in(self, layout: Layout) -> Load:
        """A load of what is stored; `layout` is any plain one of as many elements."""
        load = self.load
        if load is None or load.layout is not layout:
            load = self.load = Load(self.result, layout, self.dtype)
        return load


class Program:
    """A straight-line list of scalar steps: everything needed to compute `root`."""

    __slots__ = ("joined", "joins", "key", "load_numbers", "loads", "place", "rivals", "root",
                 "scalars", "steps", "stores")  # fmt: skip
    joined: Deferred | None  # what stands among the loads, as the number just computed
    joins: int  # how often it is read
    rivals: tuple[Deferred, ...]  # others that wait: they must be launched before the program is

    def __init__(self, root: Promise | Load):
        self.root = root
        self.steps = steps = waiting(root)  # operands before users
        self.loads = loads = []
        self.stores = stores = []
        self.place = place = {}  # n: step n;  -1 - n: load n
        self.joined, self.joins, self.rivals = None, 0, ()
        key, scalars = [], []
        for step in steps:
            key.append(step.typed)
            for arg in step.args:
                kind = type(arg)
                if kind is Promise:
                    if arg.filled is None:
                        key.append(place[arg])
                        continue
                    arg, kind = arg.filled, Load
                elif kind is Deferred:
                    arg, kind = self._met(arg, key), Load
                if kind is Load:
                    at = place.get(arg)
                    if at is None:
                        loads.append(arg)
                        at = place[arg] = -len(loads)
                    key.append(at)
                else:
                    key.append(kind)
                    scalars += (arg,) if kind is not complex else (arg.real, arg.imag)
            if step.attrs:
                scalars.extend(step.attrs.values())
            place[step] = len(place) - len(loads)
            if step.target() is not None:
                stores.append(step)
                key.append("store")
        if not steps:
            self._read()
        self.load_numbers, self.scalars = placed(loads, key), scalars
        self.key = tuple(key)  # what the kernel's text depends on
        if DEBUG >= 3:
            trace(3, "fusion", lambda: f"{self.title}: stores {len(stores)}")

    def _read(self) -> None:
        """Of a root that needs no computing."""
        root = self.root
        self.loads.append(root.filled if type(root) is Promise else root)
        self.place[self.loads[0]] = -1

    def _met(self, deferred: Deferred, key: list[Any]) -> Deferred | Load:
        if deferred.result is not None:
            return deferred.read_in(self.root.layout)
        if self.joined is not None and self.joined is not deferred:
            self.rivals += (deferred,)
        if self.joined is None and deferred.target() is not None:
            self.stores.append(deferred)
            key.append("store")
        self.joined = self.joined or deferred
        self.joins += 1
        return deferred

    @property
    def numbers(self) -> list[float]:
        """What the kernel reads at run time: of the loads, then of the steps."""
        return self.load_numbers + self.scalars

    @property
    def title(self) -> str:
        return "+".join(step.typed.op.name for step in self.steps) or "load"


def placed(loads: list[Load], key: list[Any]) -> list[float]:
    """Run-time numbers of the loads; what a kernel's text must know of them goes to `key`."""
    numbers: list[float] = []
    places: dict[Layout, int] = {}
    for load in loads:
        key.append(load.kind)
        if load.form > SINGLE:  # operands that lie alike are found by the same numbers
            known = len(places)
            key.append(places.setdefault(load.layout, known))
            if len(places) == known:
                continue
        if load.form:
            numbers += load.numbers
    return numbers


def waiting(root: Promise | Load) -> list[Promise]:
    """The promises that `root` stands on and itself, oldest first."""
    if type(root) is Load or root.filled is not None:
        return []
    steps, seen = [root], None
    for step in steps:  # grows as it is walked
        for arg in step.args:
            if type(arg) is Promise and arg.filled is None:
                if seen is None:
                    seen = {root}
                if arg not in seen:
                    seen.add(arg)
                    steps.append(arg)
    if seen is not None:
        steps.sort(key=by_age)
    return steps
