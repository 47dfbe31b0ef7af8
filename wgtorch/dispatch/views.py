"""The door of views. It remembers which layout an op makes of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from wgtorch.autograd.mode import state
from wgtorch.autograd.origin import inherited
from wgtorch.autograd.recipe import RECIPES, mask_of
from wgtorch.dispatch.binder import binder, listed, unfit
from wgtorch.op import ViewOp
from wgtorch.settled import Met
from wgtorch.storage import View, through_lens

if TYPE_CHECKING:
    from wgtorch.tensor import Tensor

new = object.__new__


def seen_as(layout: Any, args: tuple, given: dict[str, Any]) -> Any:
    """What a view depends on; 1.0 is not 1 here, nor in a size."""
    if not args and not given:
        return layout
    key = (layout, args, *map(type, args))
    if args and type(args[0]) is tuple:
        key += tuple(map(type, args[0]))
    return (*key, *given.items(), *kinds(given.values())) if given else key


def kinds(values: Iterable[Any]) -> Iterator[type]:
    """Of values, and of what tuples among them have."""
    for value in values:
        yield type(value)
        if type(value) is tuple:
            yield from map(type, value)


def view(op: ViewOp, tensor: type[Tensor]):
    """Remembers which layout the op makes of another."""
    bind, layout_of, dtype_of = binder(op), op.layout, op.dtype
    recipes, known = RECIPES[op], Met()

    def call(input, *args, **given):
        x = input
        if not isinstance(x, View):
            unfit(op, x)
        try:
            settled = known.get(seen_as(x.layout, args, given))
        except TypeError:  # sizes in a list are not hashable
            settled = None
        if settled is None:
            args, given = listed(args), {name: listed(value) for name, value in given.items()}
            attrs = bind((x, *args), given)[1]
            settled = layout_of(x.layout, **attrs), attrs
            known.keep(seen_as(x.layout, args, given), settled)
        layout, attrs = settled
        copied = layout is None
        if copied:
            x = x.clone()
            layout = layout_of(x.layout, **attrs)
        storage = x.storage
        if dtype_of is not None:
            storage = through_lens(storage, dtype_of(storage.value.dtype, **attrs))
        out = new(tensor)  # without the calls of a class, as `made` does it
        out.storage, out.layout, out._wants, out.past = storage, layout, False, None
        writes, recording = storage.writes, state.recording
        if not copied:
            out._base = x if x._base is None else x._base
            if x._origin is not None or not recording:
                out._origin = inherited(x)
        if writes:
            out._seen = writes
        if (x._wants or writes) and recording:
            recipes[mask_of((x,)) if writes else 1].record((x,), out, attrs)
        return out

    return call
