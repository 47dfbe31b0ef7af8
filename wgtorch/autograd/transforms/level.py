"""A Level is a transform under way, and a LevelDevice is the place where its tensors live.

A tensor of a level has no elements of its own: its Value holds tensors of the levels below (see
batch.py, dual.py), and the level's backend runs each *kind* of op on those. So every op knows
every transform, and ops outside of transforms know nothing of them. Operands of several levels
are first lifted to the highest among them.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any

from wgtorch.autograd import saved
from wgtorch.autograd.mode import state
from wgtorch.device import Device
from wgtorch.layout import Layout
from wgtorch.op import Op, Table
from wgtorch.storage import Storage, Value, View

DTYPES = 0.5  # the level of composed dtypes (see encoded.py): below all transforms
doors: dict[str, Callable] = {}  # the ops by name, as operators call them
raw: Table = Table(lambda op: None)  # the ops' doors without what checks arguments before them


ENDED = (
    "a tensor of a transform that has ended is used in another one; return it from its function,"
    " or detach() it there"
)


def connect(opened: dict[str, Callable], cut: Callable[[Op], Callable]) -> None:
    """Tells the levels how ops are called; they run below the doors."""
    global doors
    doors, raw.work_out = opened, cut


class LevelDevice(Device):
    """The device of a level's tensors; to users it is its root, where the elements are.

    Compared with `is`, and by its own hash, it is a place of its own.
    """

    __slots__ = ("kind", "level", "root")
    kind: type[LevelBackend]
    root: Device

    def __new__(cls, kind: type[LevelBackend], level: int, root: Device) -> LevelDevice:
        device = object.__new__(cls)
        device.type, device.index, device.root = root.type, root.index, root
        device.kind, device.level = kind, level
        device.backend = kind(device)
        return device

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Device) and root_of(other) is self.root)

    __hash__ = object.__hash__

    def __reduce__(self) -> tuple:
        return Device, (self.type, self.index)

    def beside(self, root: Device) -> LevelDevice:
        """The same level, on another device."""
        return DEVICES[self.kind, self.level, root]


DEVICES = Table(lambda key: LevelDevice(*key))  # by kind, level and root


def root_of(device: Device) -> Device:
    return device.root if device.level else device  # type: ignore[attr-defined]


def recorded_below(method: Callable) -> Callable:
    """In a hook nothing is recorded where the hook is; outside of the transform it still is."""

    @functools.wraps(method)
    def run(*args: Any) -> Any:
        if not state.in_hook:
            return method(*args)
        before, state.recording = state.recording, state.below
        try:
            return method(*args)
        finally:
            state.recording = before

    return run


class LevelBackend:
    """What the backends of all levels share."""

    def __init__(self, device: LevelDevice):
        self.device = device

    def __init_subclass__(cls) -> None:
        for name in ("elementwise", "reduction", "structured", "each", "assign", "send"):
            setattr(cls, name, recorded_below(getattr(cls, name)))

    def lifted(self, tensor: Any) -> Any:
        """A tensor of a level below as one of this level, with the same layout."""
        raise NotImplementedError

    def mapped(self, tensor: Any, change: Callable[[Any], Any]) -> Any:
        """With what it holds changed, which keeps its layout."""
        value = tensor.storage.value
        held = value.buffer
        parts = [change(p) if isinstance(p, View) else p for p in held]
        if all(p is q for p, q in zip(parts, held, strict=True)):
            return tensor
        again = Value(self.device, value.dtype, value.numel, type(held)(*parts))
        alias = tensor.over(Storage(again), tensor.layout)
        alias.past, alias._wants, alias.output_nr = tensor.past, tensor._wants, tensor.output_nr
        return alias

    def severed(self, tensor: Any) -> Any:
        """With what it holds as `detach` leaves it."""
        return self.mapped(tensor, severed)

    def data(self, tensor: Any) -> Any:
        """What its `.data` is: without its past in this transform, and only in this one."""
        return tensor.bare()

    def source(self, view: View) -> Any:
        return view

    def upload(self, array: Any, dtype: Any) -> Value:
        return self.held(self.device.root.backend.upload(array, dtype))

    def held(self, value: Value) -> Value:
        """A Value of the root, which nobody else has, as one of this level and of all below: what
        is written into it may be of any of them."""
        tensor = saved.Tensor(Storage(value), Layout.contiguous((value.numel,)))
        for number in range(1, ceil(self.device.level)):
            kind = getattr(under_way(number), "kind", None)
            if kind is not None:
                tensor = DEVICES[kind, number, self.device.root].backend.lifted(tensor)
        return self.lifted(tensor).storage.value

    def inside(self, view: View) -> Any:
        """What is held of the elements, seen through the view."""
        raise NotImplementedError

    def is_batched(self, view: View) -> bool:
        """Whether the samples of a vmap under way have different elements there."""
        inner = self.inside(view)
        return level_of(inner) >= 1 and inner.storage.value.device.backend.is_batched(inner)

    def for_all(self, view: View) -> Any:
        """The tensor of the level below, if that says as much."""
        return None

    def each(self, op: str, function: Callable, args: Sequence[Any]) -> Any:
        """A function of integers, or one without a derivative, of what is held of these."""
        return function(*[self.inside(a) if self.is_own(a) else a for a in args])

    def is_own(self, given: Any) -> bool:
        """Whether it is a tensor of this level."""
        return isinstance(given, View) and level_of(given) == self.device.level

    def check_truth(self, view: View) -> None:
        """Raises where the program may not depend on data."""

    def take_over(self, target: Any) -> None:
        """Makes what a tensor of a level below looks at, which is about to be written, one of this
        level."""
        raise NotImplementedError

    def synchronize(self) -> None:
        self.device.root.backend.synchronize()

    def explain(self, view: View) -> str:
        return f"a tensor of a transform: {view.storage.value.buffer}"


class Levels(threading.local):
    """The transforms that are under way in this thread, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.aside: list[list[Any]] = []  # those that a part of the program does not see

    def enter(self, level: Any) -> None:
        level.number = len(self.stack) + 1
        self.stack.append(level)

    @contextmanager
    def outside(self, number: int) -> Iterator[Any]:
        """As before the transform of that number began; gives what that is."""
        inner = self.stack[number - 1 :]
        del self.stack[number - 1 :]
        self.aside.append(inner)
        try:
            yield inner[0]
        finally:
            self.stack[number - 1 :] = self.aside.pop()

    def leave(self, level: Any) -> None:
        del self.stack[self.stack.index(level) :]


levels = Levels()


def under_way(number: float) -> Any:
    """The transform of that number, if there is one now."""
    if number <= len(levels.stack):
        return levels.stack[int(number) - 1]
    hidden = [found for inner in levels.aside for found in inner if found.number == number]
    return hidden[-1] if hidden else None


def level_of(tensor: View) -> int:
    return tensor.storage.value.device.level


def highest(args: Sequence[Any], above: float = 0) -> LevelDevice | None:
    """The device of the innermost level above a given one that these operands are in, if any."""
    top: Any = None
    for a in args:
        device: Any = a.storage.value.device if isinstance(a, View) else None
        if isinstance(a, tuple | list):
            device = highest(a, above)
        if device is not None and device.level > above:
            above, top = device.level, device
    return top


def together(args: tuple) -> tuple | None:
    """Operands of several levels, all lifted to the highest; None where that is no remedy."""
    top = highest(args)
    if top is None:
        return None
    if top.type == "cpu":  # numbers of the cpu follow the others to a GPU
        roots = [root_of(t.storage.value.device) for t in tensors_in(args) if t.layout.shape]
        top = next((top.beside(root) for root in roots if root.type != "cpu"), top)
    raised = lifted(args, top)
    devices = {id(t.storage.value.device) for t in tensors_in(raised)}
    return raised if len(devices) == 1 else None


def tensors_in(args: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for a in args:
        found += (
            tensors_in(a) if isinstance(a, tuple | list) else [a] if isinstance(a, View) else []
        )
    return found


def lifted(args: Sequence[Any], top: LevelDevice) -> tuple:
    return tuple([lift(a, top) for a in args])


def lift(tensor: Any, top: LevelDevice) -> Any:
    if not isinstance(tensor, View):
        return lifted(tensor, top) if isinstance(tensor, tuple | list) else tensor
    device = tensor.storage.value.device
    if device.level == top.level:
        home = device
        if home.kind is not top.kind:  # type: ignore[attr-defined]
            raise RuntimeError(ENDED)
    else:
        home = top.beside(root_of(device))
        tensor = home.backend.lifted(tensor)
    if home is not top and not tensor.layout.shape and home.type == "cpu":
        return tensor.to(top)
    return tensor


def wanting(tensor: Any) -> set[int]:
    """The levels at which a tensor, or what it holds, wants a gradient."""
    number = level_of(tensor)
    found = {number} if tensor.requires_grad else set()
    if number >= 1:
        for part in tensor.storage.value.buffer:
            found |= wanting(part) if isinstance(part, View) else set()
    return found


def detached(tensor: Any, but: Collection[int]) -> Any:
    """Without a past at every level, but for those levels."""
    number = level_of(tensor)
    if number >= 1:
        backend = tensor.storage.value.device.backend
        tensor = backend.mapped(tensor, lambda part: detached(part, but))
    return tensor if number in but or not tensor.requires_grad else tensor.bare()


def severed(tensor: Any) -> Any:
    """Without a past or a tangent at any level; itself if it has none."""
    if level_of(tensor) >= 1:
        tensor = tensor.storage.value.device.backend.severed(tensor)
    return tensor.bare() if tensor.requires_grad else tensor


def lift_to_top(tensor: Any) -> Any:
    """A tensor as one of the innermost transform under way, for who differentiates there."""
    if not levels.stack:
        return tensor
    top = levels.stack[-1]
    if level_of(tensor) >= top.number:
        return tensor
    return DEVICES[top.kind, top.number, root_of(tensor.storage.value.device)].backend.lifted(
        tensor
    )


def below_dtypes(tensor: Any) -> tuple[Any, Any]:
    """A tensor of a plain dtype that was lifted to be with composed ones, where it came from."""
    device = tensor.storage.value.device
    if device.level == DTYPES and tensor.dtype.encoding is None:
        return device.backend.lowered(tensor), device.root
    return tensor, device


def between(tensor: Any, place: Device) -> tuple[Any, Device]:
    """For a move where one side is in a transform: the tensor, lifted, and where it goes."""
    tensor, device = below_dtypes(tensor)
    if place.level == DTYPES:
        place = root_of(place)
    if not (device.level or place.level):
        return tensor, place
    if device.level >= place.level:
        return tensor, device.beside(root_of(place))
    return place.beside(root_of(device)).backend.lifted(tensor), place  # type: ignore[attr-defined]


def source_for(target: Any, source: Any) -> Any:
    """What is to be written into a tensor that is elsewhere, brought there."""
    while level_of(source) > max(level_of(target), DTYPES) and not source.requires_grad:
        one = source.storage.value.device.backend.for_all(source)
        if one is None:
            break
        source = one
    top = highest((target, source))
    if top is not None and level_of(target) < top.level:
        top.beside(root_of(target.device)).backend.take_over(target)
    return source.to(target.device)


def place_of_random(device: Device) -> Device:
    """Where random numbers are drawn: in the innermost vmap under way."""
    for current in reversed(levels.stack):
        if hasattr(current, "randomness") and device.level < current.number:
            return DEVICES[current.kind, current.number, root_of(device)]
    return device


def for_random(like: Any) -> Any:
    """A tensor that is where random numbers are drawn."""
    device = like.storage.value.device
    place = place_of_random(device)
    return like if place is device else place.backend.lifted(like)
