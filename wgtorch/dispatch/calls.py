"""The door of structured ops. It remembers what was settled for operands like these."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wgtorch.autograd.mode import state
from wgtorch.autograd.recipe import attach, attach_many, remember
from wgtorch.dispatch.binder import apart, binder, kind_of, unfit
from wgtorch.dtype import DType, promote_types, result_kind, when_default_changes
from wgtorch.layout import Layout
from wgtorch.op import Structured, lacks_complex
from wgtorch.settled import Call
from wgtorch.storage import Storage, View

if TYPE_CHECKING:
    from wgtorch.tensor import Tensor

KEPT = 4096  # settled calls remembered per op, by layouts, dtypes and attributes


def structured(op: Structured, tensor: type[Tensor]):
    bind, known = binder(op), {}
    when_default_changes.append(known.clear)
    flags = op.differentiable or (True,) + (False,) * (len(op.outputs) - 1)
    marks = tuple(op.markers.values())
    several = "Tensors" in marks

    def call(*args, **given):
        args, attrs = bind(args, given)
        if several:
            args = tuple(
                [tuple(a) if m == "Tensors" else a for a, m in zip(args, marks, strict=True)]
            )
        key, device, wants = facts_of(args)
        key = (*key, *attrs.values())
        settled_call = known.get(key)
        if settled_call is None:
            fitting = settled(op, args)
            if any([a is not b for a, b in zip(flatten(args), flatten(fitting), strict=True)]):
                return call(**dict(zip(op.inputs, fitting, strict=True)), **attrs)
            if len(known) == KEPT:
                known.clear()
            settled_call = known[key] = settle(op, args, attrs)
        values = device.backend.structured(settled_call, args)
        pairs = zip(values, settled_call.outs, strict=True)
        results = [tensor(Storage(value), layout) for value, layout in pairs]
        out = results[0]
        if wants and state.recording:
            node = remember(op, args, attrs, out.layout.shape, values[0].dtype)
            attach_many(node, results, flags) if op.outputs else attach(node, out)
        return op.gather(*results) if op.outputs else out

    return call


def facts_of(args: tuple) -> tuple[list, Any, Any]:
    """(what a call depends on, the device, whether somebody may want a gradient)."""
    key: list[Any] = []
    device, wants = None, 0
    for a in args:
        if isinstance(a, View):
            storage = a.storage
            value = storage.value
            device = value.device
            key += (a.layout, value.dtype, device)
            wants = wants or a._wants or storage.writes  # type: ignore[attr-defined]
        elif type(a) is tuple:
            more, inner, wanted = facts_of(a)
            key += (len(a), *more)
            device, wants = inner or device, wants or wanted
        else:
            key.append(type(a))
    return key, device, wants


def settle(op: Structured, args: tuple, attrs: dict[str, Any]) -> Call:
    """The call that these make, now that they fit together; raises what shapes forbid."""
    if not op.complex:
        for t in flatten(args):
            if isinstance(t, View) and t.dtype.category == 3:
                raise lacks_complex(op, t.dtype)
    shapes = [described(a, lambda t: t.layout.shape) for a in args]
    dtypes = [described(a, lambda t: t.storage.value.dtype) for a in args]
    layouts = tuple([described(a, lambda t: t.layout) for a in args])
    outs = op.shape(*shapes, **attrs)
    outs = outs if op.outputs else (outs,)
    outs = tuple([Layout.contiguous(tuple(o)) for o in outs])
    return Call(op, layouts, tuple(dtypes), attrs, outs, result_dtypes(op, dtypes, attrs))


def settled(op: Structured, args: tuple) -> tuple:
    """The inputs of a structured op: tensors of one device, promoted where they count."""
    marks = tuple(op.markers.values())
    flat = []
    for value, mark in zip(args, marks, strict=True):
        for t in value if mark == "Tensors" else () if value is None else (value,):
            if not isinstance(t, View):
                unfit(op, t)
            flat.append(t)
        if value is None and mark not in ("Maybe", "Other", "Index"):
            unfit(op, value)
    if not flat:
        raise RuntimeError(f"{op.name}(): expected a non-empty list of Tensors")
    device = flat[0].storage.value.device
    if any([t.storage.value.device is not device for t in flat]):
        raise apart(op, flat)
    if op.promotes:
        return promoted(marks, args)
    return args


def promoted(marks: tuple[str, ...], args: tuple) -> tuple:
    counting = flatten(
        [a for a, m in zip(args, marks, strict=True) if m in ("", "Maybe", "Tensors")]
    )
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
