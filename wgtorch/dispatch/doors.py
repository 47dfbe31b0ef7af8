"""Each op's door, cut once to its kind and arity when `Tensor` exists.

A call then only does what cannot be known earlier: no names are bound and no dicts built for ops
without attributes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wgtorch.autograd.mode import state
from wgtorch.autograd.recipe import RECIPES, mask_of
from wgtorch.autograd.results import maker
from wgtorch.autograd.transforms import level
from wgtorch.autograd.transforms.encoded import place_for
from wgtorch.config import DEBUG
from wgtorch.dispatch.announce import announced
from wgtorch.dispatch.binder import (
    MISSING,
    NUMBERS,
    apart,
    binder,
    is_number,
    listed,
    number,
    numbers_only,
    plain,
    unfit,
    with_ints,
    with_number,
)
from wgtorch.dispatch.blame import WithOut, blamed, shown, tensors_to
from wgtorch.dispatch.calls import structured
from wgtorch.dispatch.folds import reduction
from wgtorch.dispatch.views import view
from wgtorch.dtype import DType
from wgtorch.integers import int_places
from wgtorch.layout import Layout, meet
from wgtorch.op import Composite, Draw, Elementwise, Op, Reduction, Structured, ViewOp
from wgtorch.ops.arguments import kind_of, required
from wgtorch.storage import View

if TYPE_CHECKING:
    from wgtorch.tensor import Tensor

REAL = NUMBERS - {complex}
NO_ATTRS: dict[str, Any] = {}
DOORS: dict[str, Callable[..., Tensor]] = {}  # the ops as operators call them
FACES: dict[str, Callable[..., Tensor]] = {}  # the ops as users call them, with all arguments
PUBLIC: dict[str, Callable[..., Tensor]] = {}  # the same with names, `out=` and documentation


def open_doors(registry: dict[str, Op], tensor: type[Tensor]) -> None:
    level.connect(DOORS, lambda op: cut(op, tensor))
    for name, op in registry.items():
        if name not in DOORS:
            door = gated(op, named(op, cut(op, tensor)))
            DOORS[name] = announced(op, door) if DEBUG >= 5 else door
            front = tensors_to(op, op.front(DOORS[name])) if op.front else None
            FACES[name] = shown(op, named(op, front) if front else keyed(op, DOORS[name]))


def named(op: Op, door: Callable) -> Callable:
    door.__name__ = door.__qualname__ = op.name
    door.__doc__ = op.reference.__doc__
    return door


def gated(op: Op, door: Callable) -> Callable:
    return named(op, op.gate(door)) if op.gate else door


def keyed(op: Op, door: Callable) -> Callable:
    """Doors of one or two operands call them `input` and `other`; this one knows their names."""
    if op.gate or not is_simple(op) or op.inputs in (("input",), ("input", "other")):
        return door
    bind = binder(op)

    def call(*args, **given):
        return door(*args) if not given else door(*bind(args, given)[0])

    return named(op, call)


def is_simple(op: Op) -> bool:
    """One operand or two, and nothing else to bind."""
    simple = isinstance(op, Elementwise) and not op.attrs and not op.defaults
    return simple and len(op.inputs) <= 2


def operator(op: Op, tensor: type[Tensor]) -> Callable[..., Any]:
    """The op as a Python operator: operands it does not know may know it."""
    if op.operator in ("neg", "pos", "abs", "invert"):
        return DOORS[op.name]
    if not is_simple(op):
        plain = isinstance(op, Composite) and DEBUG < 5
        door = op.function if plain else DOORS[op.name]  # nothing to check: both are fit here
        return lambda x, y: door(x, y) if isinstance(y, View) or is_number(y) else NotImplemented
    door = gated(op, named(op, binary(op, tensor, lambda op, value: NotImplemented)))
    return announced(op, door) if DEBUG >= 5 else door


def cut(op: Op, tensor: type[Tensor]) -> Callable[..., Any]:
    if isinstance(op, Elementwise) and op.casts:
        return copying(op, tensor)
    if is_simple(op):
        return (unary if len(op.inputs) == 1 else binary)(op, tensor)
    for kind, cutter in KINDS.items():
        if isinstance(op, kind):
            return cutter(op, tensor)
    raise TypeError(f"{op.name}: no door is cut for {type(op).__name__}")


def unary(op: Elementwise, tensor: type[Tensor]):
    typed, recipes, made = op.typed, RECIPES[op], maker(tensor)

    def call(input):
        if not isinstance(input, View):
            unfit(op, input)
        value, layout = input.storage.value, input.layout
        if not layout.is_plain:
            layout = meet(layout)
        result = value.device.backend.elementwise(typed[(value.dtype,)], (input,), NO_ATTRS, layout)
        out = made(result, layout)
        if (input._wants or input.storage.writes) and state.recording:
            mask = mask_of((input,)) if input.storage.writes else 1
            recipes[mask].record((input,), out)
        return out

    return call


def binary(op: Elementwise, tensor: type[Tensor], refuse: Callable[..., Any] = unfit):
    typed, recipes, tensors, made = op.typed, RECIPES[op], op.tensors, maker(tensor)

    def call(input, other):
        if isinstance(input, View) and isinstance(other, View):
            first, second, layout = input.storage, other.storage, input.layout
            value, its = first.value, second.value
            if value.device is not its.device:
                return call(*together(op, (input, other)))
            a, b = value.dtype, its.dtype
            if layout is not other.layout:
                if a is not b:
                    a, b = kind_of(input), kind_of(other)
                layout = meet(layout, other.layout)
            known, writes = typed[a, b], first.writes or second.writes
            mask = (3 if input._wants else 2) if other._wants else input._wants
        elif isinstance(input, View):
            y = other if type(other) in NUMBERS else plain(other)
            if y is None:
                return refuse(op, other)
            if tensors == 2:
                with_number(op, input, y)
            value, writes, layout = input.storage.value, input.storage.writes, input.layout
            known, mask, other = typed[value.dtype, type(y)], input._wants, y
        elif isinstance(other, View):
            x = input if type(input) in NUMBERS else plain(input)
            if x is None:
                return refuse(op, input)
            if tensors:
                with_number(op, x, other)
            value, writes, layout = other.storage.value, other.storage.writes, other.layout
            known, mask, input = typed[type(x), value.dtype], 2 * other._wants, x
        else:
            return refuse(op, input) if not tensors else numbers_only(op, input, other)
        layout, args = layout if layout.is_plain else meet(layout), (input, other)
        out = made(value.device.backend.elementwise(known, args, NO_ATTRS, layout), layout)
        if (mask or writes) and state.recording:
            recipes[mask_of(args) if writes else mask].record(args, out)
        return out

    return call


def elementwise(op: Elementwise, tensor: type[Tensor]):
    """Any number of operands, and attributes. Two or three that lie alike are not walked."""
    bind, typed, recipes, made = quick_binder(op), op.typed, RECIPES[op], maker(tensor)
    walk, count = walking(op, tensor), len(op.inputs)
    all_given = -1 if op.attrs else count  # by so many arguments

    def call(*args, **given):
        attrs = NO_ATTRS
        if given or len(args) != all_given:
            args, attrs = bind(args, given)
            for name in attrs:
                if type(attrs[name]) not in REAL:
                    attrs = numbers(op, attrs)
                    break
        if count != 2 and count != 3:
            return walk(args, attrs)
        a, b, c = args[0], args[1], args[-1]  # of two, the last twice
        if not (isinstance(a, View) and isinstance(b, View) and isinstance(c, View)):
            return walk(args, attrs)
        layout, first, second, third = a.layout, a.storage, b.storage, c.storage
        if not layout is b.layout is c.layout or not layout.is_plain:
            return walk(args, attrs)
        value, its, last = first.value, second.value, third.value
        device, kind = value.device, its.dtype
        if its.device is not device or last.device is not device:
            return walk(args, attrs)
        known = typed[(value.dtype, kind, last.dtype) if count == 3 else (value.dtype, kind)]
        out = made(device.backend.elementwise(known, args, attrs, layout), layout)
        wants = a._wants or b._wants or c._wants or first.writes or second.writes or third.writes
        if wants and state.recording:
            recipes[mask_of(args)].record(args, out, attrs)
        return out

    return call


def walking(op: Elementwise, tensor: type[Tensor]):
    """`elementwise` for what it has bound."""
    typed, recipes, made = op.typed, RECIPES[op], maker(tensor)

    def walk(args, attrs):
        layout = device = None
        alike, mask, bit, writes, kinds = True, 0, 1, False, []
        for a in args:
            if isinstance(a, View):
                storage = a.storage
                value = storage.value
                kinds.append(value.dtype)
                if a.layout is not layout or value.device is not device:
                    alike, layout, device = layout is None, a.layout, value.device
                if a._wants:  # type: ignore[attr-defined]
                    mask += bit
                if storage.writes:
                    writes = True
            elif type(a) in NUMBERS:
                if op.tensors:
                    required(op.name, **dict(zip(op.inputs, args, strict=True)))
                kinds.append(type(a))
            else:
                args = tuple([b if isinstance(b, View) else number(op, b) for b in args])
                return walk(args, attrs)
            bit += bit
        if layout is None:
            unfit(op, args[0])
        if not alike:
            args, kinds, layout, device = brought_together(op, args)
        elif not layout.is_plain:
            layout = meet(layout)
        known = typed[tuple(kinds)]
        out = made(device.backend.elementwise(known, args, attrs, layout), layout)
        if (mask or writes) and state.recording:
            recipes[mask_of(args) if writes else mask].record(args, out, attrs)
        return out

    return walk


def quick_binder(op: Elementwise) -> Callable[[tuple, dict], tuple[tuple, dict[str, Any]]]:
    """A `binder` that is quick where operands come first and only attributes are named."""
    bind, count = binder(op), len(op.inputs)
    names, defaults = tuple(op.attrs), tuple(op.attrs.values())
    straight = tuple(op.parameters)[:count] == op.inputs and not op.defaults
    preset = {} if MISSING in defaults else dict(op.attrs)
    only = names[0] if len(names) == 1 else None
    least = count + sum(d is MISSING for d in defaults)

    def quick(args, given):
        if straight and len(args) == count:
            if only in given and len(given) == 1:
                return args, given
            if least == count:
                attrs = {**preset, **given} if given else preset
                if len(attrs) == len(preset):
                    return args, attrs
        elif straight and len(args) == count + len(names) and not given:
            return args[:count], dict(zip(names, args[count:], strict=True))
        if given or not straight or not least <= len(args) <= count + len(names):
            return bind(args, given)
        attrs, place = dict(preset), count
        for name in names:
            attrs[name] = args[place] if place < len(args) else defaults[place - count]
            place += 1
        return args[:count], attrs

    return quick


def brought_together(op: Elementwise, args: tuple) -> tuple:
    """Operands of several layouts: on one device, with their kinds and where the result goes."""
    tensors = [a for a in args if isinstance(a, View)]
    device = tensors[0].storage.value.device
    if any([t.storage.value.device is not device for t in tensors]):
        args = together(op, args)
        tensors = [a for a in args if isinstance(a, View)]
        device = tensors[0].storage.value.device
    return args, [kind_of(a) for a in args], meet(*[t.layout for t in tensors]), device


def numbers(op: Elementwise, attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes, some of which are no numbers of Python's, as numbers."""
    attrs = {name: listed(value) for name, value in attrs.items()}
    for name, value in attrs.items():
        if type(value) not in NUMBERS or type(value) is complex:
            raise TypeError(f"{op.name}(): {name} must be a real number, not {value!r}")
    return attrs


def cast(x: Tensor, dtype: DType) -> Tensor:
    """The same numbers as another dtype; a copy only if it is another."""
    return x if x.storage.value.dtype is dtype else DOORS["copy"].at(x, dtype)  # type: ignore[attr-defined]


def copying(op: Elementwise, tensor: type[Tensor]):
    """`copy`, which may also be asked for a dtype."""
    recipes, made = RECIPES[op], maker(tensor)

    def at(x, dtype):
        device, layout = x.storage.value.device, x.layout
        if dtype.encoding is not None:
            device = place_for(device, dtype)
        if not layout.is_plain:
            layout = meet(layout)
        value = device.backend.elementwise(op.at(dtype), (x,), NO_ATTRS, layout)
        out = made(value, layout)
        if (x._wants or x.storage.writes) and state.recording and dtype.category >= 2:
            recipes[mask_of((x,))].record((x,), out)
        return out

    def call(x):
        return at(x, x.storage.value.dtype)

    call.at = at
    return call


def draw(op: Draw, tensor: type[Tensor]):
    """Random numbers on the device of a tensor; which generator, its caller knows."""

    made = maker(tensor)

    def call(like, size, seed, offset):
        layout = Layout.contiguous(tuple(size))
        if level.levels.stack:
            like = level.for_random(like)
        value = like.storage.value.device.backend.draw(op, seed, offset, layout)
        return made(value, layout)

    return call


def composed(op: Composite, _: Any = None, fill: Callable | None = None):
    """The function, which gets ints where its annotations say so, and says what was no tensor.
    `fill` takes over where there is an `out`."""
    function, ints = op.function, int_places(op)
    names = frozenset([name for name, *_ in ints])
    first, last = (ints[0][1], ints[-1][1]) if ints else (sys.maxsize, sys.maxsize)

    def are_ints(args, given):
        for value in args[first : last + 1]:  # others between them only take the long way
            if type(value) is not int:
                return False
        return all([name not in names or type(given[name]) is int for name in given])

    def call(*args, **given):
        if given and fill is not None and "out" in given:
            return fill(*args, **given)
        count = len(args)
        is_quick = count <= first or (first == last and type(args[first]) is int)
        if (given or not is_quick) and not are_ints(args, given):
            args, given = with_ints(op, ints, args, given)
        try:
            return function(*args, **given) if given else function(*args)
        except AttributeError as error:
            raise blamed(op, args, given, error) from None

    # whose signature it has
    call.__wrapped__ = function if fill is None else WithOut(function)  # type: ignore[attr-defined]
    return named(op, call)


KINDS: dict[type[Op], Callable] = {
    Elementwise: elementwise,
    Draw: draw,
    Reduction: reduction,
    ViewOp: view,
    Structured: structured,
    Composite: composed,
}


def together(op: Op, args: tuple) -> tuple:
    """A 0-d tensor of the cpu follows the others to their device; other mixtures are refused."""
    raised = level.together(args)
    if raised is not None:
        return raised
    tensors = [a for a in args if isinstance(a, View)]
    away = [t for t in tensors if t.layout.shape or t.storage.value.device.type != "cpu"]
    if not away or any(t.storage.value.device is not away[0].storage.value.device for t in away):
        raise apart(op, tensors)
    device = away[0].storage.value.device
    return tuple([a.to(device) if isinstance(a, View) else a for a in args])
