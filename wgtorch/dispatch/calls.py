"""The door of structured ops. It remembers what was settled for operands like these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from wgtorch.autograd.mode import state
from wgtorch.autograd.recipe import (
    RECIPES,
    attach,
    attach_many,
    mask_of,
    remember,
)  # fmt: skip
from wgtorch.autograd.results import maker
from wgtorch.autograd.transforms.level import together as lifted_together
from wgtorch.dispatch.binder import apart, binder, holds_tensor, unfit
from wgtorch.dtype import DType, promote_types, result_kind, settled_by_defaults
from wgtorch.layout import Layout
from wgtorch.op import Structured, lacks_complex
from wgtorch.ops.arguments import kind_of, no_element
from wgtorch.settled import Call, Met
from wgtorch.storage import View

if TYPE_CHECKING:
    from wgtorch.tensor import Tensor

COUNTING = ("", "Maybe", "Tensors")  # the markers of inputs that are promoted


def structured(op: Structured, tensor: type[Tensor]):
    calls, made_of, recipes = Calls(op), maker(tensor), RECIPES[op]
    known, several, plural = calls.known, "Tensors" in calls.marks, bool(op.outputs)
    flags = op.differentiable or (True,) + (False,) * (len(op.outputs) - 1)

    def call(*args, **given):
        flat = (*args, *given.values()) if given else args
        is_pair = len(flat) == 2 and not several
        key, device, wants = facts_of_two(*flat) if is_pair else facts_of(flat)
        if given:
            key = (*key, *given)
        try:
            made, pick = known[key]
        except (KeyError, TypeError):  # what is not hashable will be refused
            made = None
        if made is None:
            made, inputs = calls.first(flat, tuple(given), key, call)
            if type(made) is not Call:
                return made(*inputs)
            device = flatten(inputs)[0].storage.value.device  # not that of a dim in a tensor
        else:
            inputs = pick(flat)
        values = device.backend.structured(made, inputs)
        if plural:
            pairs = zip(values, made.outs, strict=True)
            results = [made_of(value, layout) for value, layout in pairs]
            if wants and state.recording:
                facts = results[0].layout.shape, values[0].dtype
                attach_many(remember(op, inputs, made.attrs, *facts), results, flags)
            return op.gather(*results)
        (value,), (layout,) = values, made.outs
        out = made_of(value, layout)
        if wants and state.recording:
            if several:
                attach(remember(op, inputs, made.attrs, layout.shape, value.dtype), out)
            else:
                recipes[mask_of(inputs)].record(inputs, out, made.attrs)
        return out

    return call


class Calls:
    """The calls of an op that were met, by what they depend on: everything but data."""

    def __init__(self, op: Structured):
        self.op, self.bind, self.known = op, binder(op), Met()
        self.marks = tuple(op.markers.values())
        settled_by_defaults(self.known)

    def first(
        self, given: tuple, names: tuple[str, ...], key: tuple, again: Callable
    ) -> tuple[Any, tuple]:
        """What is settled for a call not met before, and its inputs; or the function of these that
        is to run in its place, such as the call again, of inputs that were promoted."""
        args, attrs = bind_by(self.bind, given, names)
        args = tuple(
            [tuple(a) if m == "Tensors" else a for a, m in zip(args, self.marks, strict=True)]
        )
        fitting = settled(self.op, args)
        if any([a is not b for a, b in zip(flatten(args), flatten(fitting), strict=True)]):
            return partial(again, **dict(zip(self.op.inputs, fitting, strict=True)), **attrs), ()
        if self.op.complex_way is not None and is_complex(args):
            return self.op.complex_way, args
        made = settle(self.op, args, attrs)
        standins = [Place(i) if holds_tensor((a,)) else a for i, a in enumerate(given)]
        stood = bind_by(self.bind, standins, names)[0]
        picks = [p.number if type(p) is Place else None for p in stood]
        others = [a for i, a in enumerate(given) if i not in picks]
        found = all([a is None or p is not None for a, p in zip(args, picks, strict=True)])
        if found and not holds_tensor(others):  # what follows from data is not remembered
            is_first = picks == [*range(len(picks))] and list not in map(type, given[: len(picks)])
            pick = itemgetter(slice(len(picks))) if is_first else partial(picked, picks)
            self.known.keep(key, (made, pick))
        return made, args


def picked(picks: Sequence[int | None], given: tuple) -> tuple:
    """The inputs among what was given; None where there is none."""
    inputs = [n if n is None else given[n] for n in picks]
    return tuple([tuple(a) if type(a) is list else a for a in inputs])


def is_complex(args: tuple) -> bool:
    """Whether all are of one complex dtype."""
    first = args[0].storage.value.dtype
    return first.category == 3 and all([t.storage.value.dtype is first for t in args])


class Place:
    """Stands for the tensor that was given at a place, to see which input that is."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number

    def __index__(self) -> int:
        """Where an int was expected, and a 0-d tensor given: which is no input."""
        return self.number


def bind_by(bind: Callable, values: Sequence[Any], names: tuple[str, ...]) -> tuple:
    """Binds values, the last of which were given by name."""
    count = len(values) - len(names)
    return bind(tuple(values[:count]), dict(zip(names, values[count:], strict=True)))


def facts_of_two(a: Any, b: Any) -> tuple[tuple, Any, Any]:
    """`facts_of` the most usual calls, of two tensors or of one and an int, in half the time."""
    if not isinstance(a, View):
        return facts_of((a, b))
    first, layout = a.storage, a.layout
    value = first.value
    dtype, device = value.dtype, value.device
    if type(b) is int:
        return (layout, dtype, device, int, b), device, a._wants or first.writes  # type: ignore[attr-defined]
    if not isinstance(b, View):
        return facts_of((a, b))
    second = b.storage
    its = second.value
    wants = a._wants or b._wants or first.writes or second.writes  # type: ignore[attr-defined]
    return (layout, dtype, device, b.layout, its.dtype, its.device), its.device, wants


def facts_of(args: Sequence[Any]) -> tuple[tuple, Any, Any]:
    """(what a call depends on, the device, whether somebody may want a gradient)."""
    key: list[Any] = []
    device, wants = None, 0
    for a in args:
        kind = type(a)
        if isinstance(a, View):
            storage = a.storage
            value = storage.value
            device = value.device
            key += (a.layout, value.dtype, device)
            wants = wants or a._wants or storage.writes  # type: ignore[attr-defined]
        elif kind is int:
            key += (int, a)
        elif kind is tuple or kind is list:
            key += (kind, len(a))
            for t in a:
                if isinstance(t, View):  # as above, without a call
                    storage = t.storage
                    value = storage.value
                    device = value.device
                    key += (t.layout, value.dtype, device)
                    wants = wants or t._wants or storage.writes  # type: ignore[attr-defined]
                else:
                    more, inner, wanted = facts_of((t,))
                    key += more
                    device, wants = inner or device, wants or wanted
        elif kind is float:
            key.append(repr(a))  # -0.0 is not 0.0, which is not 0
        else:
            key += (kind, a)
    return tuple(key), device, wants


def settle(op: Structured, args: tuple, attrs: dict[str, Any]) -> Call:
    """The call that these make, now that they fit together; raises what shapes forbid."""
    if not op.complex:
        for t in flatten(args):
            if isinstance(t, View) and t.dtype.category == 3:
                raise lacks_complex(op, t.dtype)
    shapes = [described(a, lambda t: t.layout.shape) for a in args]
    dtypes = [described(a, lambda t: t.storage.value.dtype) for a in args]
    kinds = kinds_of(op, args)
    layouts = tuple([described(a, lambda t: t.layout) for a in args])
    outs = op.shape(*shapes, **attrs)
    outs = outs if op.outputs else (outs,)
    outs = tuple([Layout.contiguous(tuple(o)) for o in outs])
    return Call(op, layouts, tuple(dtypes), attrs, outs, result_dtypes(op, kinds, attrs))


def settled(op: Structured, args: tuple) -> tuple:
    """The inputs of a structured op: tensors of one device, promoted where they count."""
    marks = tuple(op.markers.values())
    flat = []
    for value, mark in zip(args, marks, strict=True):
        several = mark == "Tensors"
        for place, t in enumerate(value if several else () if value is None else (value,)):
            if not isinstance(t, View):
                raise no_element(place, t) if several else unfit(op, t)
            flat.append(t)
        if value is None and mark not in ("Maybe", "Other", "Index"):
            unfit(op, value)
    if not flat:
        raise RuntimeError(f"{op.name}(): expected a non-empty list of Tensors")
    device = flat[0].storage.value.device
    if any([t.storage.value.device is not device for t in flat]):
        args = lifted_together(args)
        if args is None:
            raise apart(op, flat)
    if op.promotes and not any([t.storage.value.dtype.encoding is not None for t in flat]):
        return promoted(marks, args)
    return args  # those of composed dtypes are decoded and promoted in their place


def kinds_of(op: Structured, args: tuple) -> list[Any]:
    """The dtypes of inputs; where one is composed, as if those that count were promoted."""
    counting = [t for t in flatten(args) if t.storage.value.dtype.encoding is not None]
    dtypes = [described(a, lambda t: t.storage.value.dtype) for a in args]
    if not counting:
        return dtypes
    least = 0 if op.promotes else counting[0].storage.value.dtype.category
    pairs = list(zip(args, op.markers.values(), strict=True))

    def counts(t: Any, mark: str) -> bool:
        return mark in COUNTING and t.storage.value.dtype.category >= least

    found = [t for a, m in pairs for t in flatten((a,)) if counts(t, m)]
    common = result_kind(*map(kind_of, found))
    return [
        described(a, lambda t, m=m: common if counts(t, m) else t.storage.value.dtype)
        for a, m in pairs
    ]


def promoted(marks: tuple[str, ...], args: tuple) -> tuple:
    counting = flatten([a for a, m in zip(args, marks, strict=True) if m in COUNTING])
    first = counting[0].storage.value.dtype if counting else None
    if all([t.storage.value.dtype is first for t in counting]):
        return args
    common = result_kind(*[kind_of(t) for t in counting])
    return tuple(
        [
            a
            if a is None or m in ("Other", "Index", "Condition")
            else tuple([t.to(common) for t in a])
            if m == "Tensors"
            else a.to(common)
            for a, m in zip(args, marks, strict=True)
        ]
    )


def flatten(args) -> list[Any]:
    flat: list[Any] = []
    for a in args:
        if isinstance(a, tuple):
            flat.extend(a)
        elif a is not None:
            flat.append(a)
    return flat


def described(value: Any, what: Callable) -> Any:
    if value is None:
        return None
    return tuple([what(t) for t in value]) if isinstance(value, tuple) else what(value)


def result_dtypes(op: Structured, dtypes: list, attrs: dict[str, Any]) -> tuple[DType, ...]:
    if op.dtype is not None:
        kinds = op.dtype(*dtypes, **attrs)
        return tuple(kinds) if isinstance(kinds, tuple | list) else (kinds,)
    counting = [d for d, n in zip(dtypes, op.inputs, strict=True) if op.markers[n] != "Index"]
    common = flatten(counting)[0]
    for d in flatten(counting):
        common = promote_types(common, d) if op.promotes else common
    return (common,) * max(1, len(op.outputs))
