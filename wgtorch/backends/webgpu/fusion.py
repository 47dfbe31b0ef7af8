"""Which elementwise ops run together. Pure bookkeeping: nothing here touches a GPU.

An elementwise op on the GPU only makes a `Promise`. When somebody needs the value, the promise
and every unfulfilled promise under it become one `Program`, hence one kernel. An intermediate
is stored on the way exactly when its Value is still alive.

A Program knows its own structure as a flat `key` (ops, which operand is which, forms of layouts,
what is stored), so a compiled kernel is found without writing its text again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any
from weakref import ref

import numpy as np

from wgtorch.config import DEBUG, trace
from wgtorch.dtype import DType
from wgtorch.layout import SINGLE, Layout
from wgtorch.op import Draw
from wgtorch.settled import TypedOp
from wgtorch.storage import Value

DRAWN = -1  # the form of an operand that is drawn, not read
JOINED = -2  # the form of an operand that the kernel has just computed
PUT_OFF = 1 << 20  # what a Deferred adds to sizes: far more than ops ever do
HEAVY = 1 << 40  # what a Load of a large buffer adds to sizes
FEW, SHORT = 4, 1 << 16  # ops that are computed again for each of so many elements
new = object.__new__
by_size = attrgetter("size")  # a promise that waits has more than each of its operands


class Load:
    """An element of a filled buffer."""

    __slots__ = ("__weakref__", "buffer", "dtype", "form", "fours", "kind", "layout", "noted",
                 "numbers", "size")  # fmt: skip

    buffer: Any  # None for what is drawn
    dtype: DType
    layout: Layout  # broadcast to the program's shape
    form: int  # these three as `layout.reading` has them
    numbers: tuple[int, ...]
    fours: str
    size: int  # see Promise
    noted: bool  # whether Holdings have counted it
    kind: Any  # what a kernel's text must know


def load_of(buffer: Any, layout: Layout, dtype: DType) -> Load:
    """A Load, without a call of `__init__`: there is one for nearly every result."""
    load = Load()
    load.buffer = buffer
    load.layout = layout
    load.dtype = load.kind = dtype
    load.form = load.size = 0
    load.numbers = ()
    load.fours = ""
    load.noted = False
    if not layout.is_plain:
        load.form, load.numbers, load.fours = layout.reading
        load.kind = (dtype, load.form, load.fours)
    return load


def drawn(op: Draw, seed: int, offset: int, layout: Layout) -> Load:
    """Random numbers in place of a buffer."""
    load = load_of(None, layout, op.dtype)
    words = (seed, seed >> 32, offset, offset >> 32)
    load.form, load.numbers = DRAWN, tuple([word & 0xFFFFFFFF for word in words])
    load.kind = (op, DRAWN)
    return load


class Promise:
    """The element `op` would compute."""

    __slots__ = ("args", "attrs", "dtype", "filled", "layout", "size", "target", "typed")

    typed: TypedOp
    dtype: DType  # of the result
    args: Sequence[Promise | Load | Deferred | float]
    attrs: dict[str, float]
    layout: Layout
    size: int  # ops that fulfilling this would fuse (shared ones again), PUT_OFF and HEAVY added
    target: Callable[[], Value | None]  # weak: who waits for the result
    filled: Load | None

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


def promised(
    device: Any, typed: TypedOp, args: Sequence[Any], attrs: dict[str, float], out: Layout,
    size: int = 1,
) -> Value:  # fmt: skip
    """A Value that an op would compute; without calls of `__init__`, as this runs once per op."""
    promise, value = Promise(), new(Value)
    promise.typed = typed
    promise.args = args
    promise.attrs = attrs
    promise.layout = out
    promise.size = size
    promise.target = ref(value)
    promise.filled = None
    value.device = device
    value.dtype = promise.dtype = typed.dtype
    value.numel = out.numel
    value.buffer = value.load = None
    value.promise = promise
    return value


def nobody() -> None:
    """The target of what nobody waits for."""


def spread(promise: Promise, out: Layout) -> Promise | None:
    """The one element of a promise at every place of `out`, computed there: where that is little,
    it takes less than a launch. None where it is not."""
    if promise.size > FEW or out.numel > SHORT:
        return None
    args: list[Any] = []
    for arg in promise.args:
        if type(arg) is Promise and arg.filled is not None:
            arg = arg.filled
        if type(arg) is Promise:
            arg = spread(arg, out)
        elif type(arg) is Load:
            arg = at_every_place(arg, out)
        if arg is None:
            return None
        args.append(arg)
    copy = Promise()
    copy.typed, copy.dtype, copy.attrs = promise.typed, promise.dtype, promise.attrs
    copy.args, copy.layout, copy.size = args, out, promise.size
    copy.target, copy.filled = nobody, None
    return copy


def at_every_place(load: Load, out: Layout) -> Load | None:
    """None of what is drawn: there it would be another number at each place."""
    if load.form == DRAWN:
        return None
    layout = Layout.of(out.shape, (0,) * len(out.shape), load.layout.offset)
    return load_of(load.buffer, layout, load.dtype)


class Deferred:
    """The result of a kernel whose launch is put off: elementwise ops that follow may end it.

    In a Program it stands among the loads, as the number that the kernel has just computed.
    """

    __slots__ = ("__weakref__", "buffers", "dtype", "given", "kind", "layout", "load", "plan",
                 "result", "target")  # fmt: skip
    buffer, form, numbers, fours, size = None, JOINED, (), "", PUT_OFF  # as of a Load, a Promise
    number, is_constant = None, False

    plan: Any  # how it is launched
    buffers: Sequence[Any]  # what it reads
    given: Sequence[float]  # and the numbers, where its plan does not have them
    target: Callable[[], Value | None]  # weak: who waits for the result
    result: Any  # the buffer, once there is one
    load: Load | None

    def fulfil(self, value: Value) -> None:
        value.device.backend.deferrals.fulfil(self)

    def keep(self, load: Load) -> None:
        """It is stored now; its operands may go."""
        self.load = load
        self.done(load.buffer)

    def done(self, result: Any) -> None:
        self.result, self.buffers, self.given = result, (), ()

    def read_in(self, layout: Layout) -> Load:
        """A load of what is stored; `layout` is any plain one of as many elements."""
        load = self.load
        if load is None or load.layout is not layout:
            load = self.load = load_of(self.result, layout, self.dtype)
        return load


def put_off(device: Any, plan: Any, buffers: Sequence[Any], given: Sequence[float] = ()) -> Value:
    """A Value that a launch put off will compute."""
    deferred, value = Deferred(), new(Value)
    deferred.plan = plan
    deferred.buffers = buffers
    deferred.given = given
    deferred.layout = plan.out
    deferred.kind = plan.kind
    deferred.target = ref(value)
    deferred.result = deferred.load = None
    value.device = device
    value.dtype = deferred.dtype = plan.dtype
    value.numel = plan.numel
    value.buffer = value.load = None
    value.promise = deferred
    return value


class Program:
    """A straight-line list of scalar steps: everything needed to compute `root`."""

    __slots__ = ("joined", "joins", "key", "load_numbers", "loads", "rivals", "root", "scalars",
                 "steps", "stores")  # fmt: skip
    joined: Deferred | None  # what stands among the loads, as the number just computed
    joins: int  # how often it is read
    rivals: dict[Deferred, Any]  # others that wait: they must be launched before the program is

    def __init__(self, root: Promise | Load):
        self.root = root
        self.steps = steps = waiting(root)  # operands before users
        self.loads = loads = []  # type: ignore[var-annotated]
        self.stores = stores = []  # type: ignore[var-annotated]
        self.load_numbers: list[float] = []  # what the kernel reads at run time of the loads
        self.scalars: list[float] = []  # and of the steps
        self.joined, self.joins, self.rivals = None, 0, {}
        place: dict[Any, int] = {}  # n: step n;  -1 - n: load n
        key: list[Any] = []
        known, n = place.get, 0
        for step in steps:
            key.append(step.typed)
            for arg in step.args:
                at = known(arg)
                if at is None and type(arg) is not Load:
                    arg = self._met(arg)
                    at = known(arg) if type(arg) is Load else arg
                if at is None:
                    loads.append(arg)
                    place[arg] = -len(loads)
                    at = self._placed(arg) if arg.form else arg.kind
                key.append(at)
            if step.attrs:
                self.scalars.extend(step.attrs.values())
            place[step] = n
            n += 1
            if step.target() is not None:
                stores.append(step)
                key.append("store")
        if not n:  # a root that needs no computing
            self._read(key)
        self.key = tuple(key)  # what the kernel's text depends on
        if DEBUG >= 3:
            trace(3, "fusion", lambda: f"{self.title}: stores {len(stores)}")

    def _read(self, key: list[Any]) -> None:
        """Of a root that needs no computing."""
        load = self.root if type(self.root) is Load else self.root.filled
        self.loads.append(load)
        key.append(self._placed(load) if load.form else load.kind)

    def _met(self, arg: Any) -> Any:
        """The load that an operand has become; for one that is no load, what the key says of it."""
        kind = type(arg)
        if kind is Promise:
            return arg.filled
        if kind is Deferred:
            return self._awaited(arg) if arg.result is None else arg.read_in(self.root.layout)
        self.scalars += (arg,) if kind is not complex else (arg.real, arg.imag)
        return kind

    def _placed(self, load: Load) -> Any:
        """What the key says of a load that does not lie plainly. Of those that lie alike, the first
        gives the numbers."""
        alike = 0
        if load.form > SINGLE:
            alike = [other.layout for other in self.loads].index(load.layout)
        if load.form <= SINGLE or self.loads[alike] is load:
            self.load_numbers += load.numbers
        return load.kind, alike

    def _awaited(self, deferred: Deferred) -> Any:
        """The same of a launch that waits: it gets its place when it is known how often it is
        read."""
        self.joins += 1
        if deferred in self.loads:
            return -1 - self.loads.index(deferred)
        self.loads.append(deferred)
        if self.joined is not None:
            self.rivals[deferred] = deferred
            return deferred.kind
        self.joined = deferred
        if deferred.target() is None:
            return deferred.kind
        self.stores.append(deferred)
        return deferred.kind, "store"

    def read_rivals(self) -> None:
        """As if they were launched: the program's text reads what they leave."""
        for rival in self.rivals:
            load = self.rivals[rival] = load_of(None, rival.layout, rival.dtype)
            self.loads[self.loads.index(rival)] = load

    def name_of(self, arg: Promise | Load | Deferred) -> str:
        """What a kernel's text calls an operand: v and the number of a step, x and that of a
        load."""
        if type(arg) is Promise:
            if arg.filled is None:
                return f"v{self.steps.index(arg)}"
            arg = arg.filled
        elif type(arg) is Deferred and arg.result is not None:
            arg = arg.load
        return f"x{self.loads.index(self.rivals.get(arg, arg))}"

    @property
    def numbers(self) -> list[float]:
        return self.load_numbers + self.scalars

    @property
    def title(self) -> str:
        return "+".join(step.typed.op.name for step in self.steps) or "load"


def waiting(root: Promise | Load) -> list[Promise]:
    """The promises that `root` stands on and itself, operands before users."""
    if type(root) is Load or root.filled is not None:
        return []
    steps = [root]
    if root.size % PUT_OFF == 1:  # it never stood on another promise
        return steps
    seen = {root}
    for step in steps:  # grows as it is walked
        for arg in step.args:
            if type(arg) is Promise and arg.filled is None and arg not in seen:
                seen.add(arg)
                steps.append(arg)
    steps.sort(key=by_size)
    return steps
