"""Nodes that are no op: a move, a copy, a write into a view, a view of what was written.

After a recorded write every view of the written memory has another past. It is worked out when
somebody asks (`refresh`); `Storage.writes` against a view's `_seen` says whether it must be.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from wgtorch.autograd.mode import state
from wgtorch.autograd.node import Node, leaf_of
from wgtorch.autograd.origin import inherited, refuse_written
from wgtorch.autograd.region import between
from wgtorch.layout import Layout
from wgtorch.storage import memory_of


def past_of(tensor: Any) -> Node:
    """Where gradients for a tensor that wants one go."""
    if tensor.storage.writes:
        refresh(tensor)
    return tensor.past or leaf_of(tensor)


def wants(tensor: Any) -> bool:
    """Whether a tensor wants a gradient, after what was written to its memory."""
    if tensor._origin is None:
        return refresh(tensor)
    return tensor._wants or (tensor._seen != tensor.storage.writes and tensor._base._wants)


def refresh(tensor: Any) -> bool:
    """Brings a view's past up to date with writes to its base; whether it wants a gradient.

    RuntimeError where the way the view was made forbids such writes.
    """
    base, writes = tensor._base, tensor.storage.writes
    if base is not None and tensor._seen != writes:
        if tensor._origin is not None and base._wants:
            refuse_written(tensor, indirectly=True)
        tensor._seen = writes
        if base._wants and memory_of(base.storage) is memory_of(tensor.storage):
            tensor.past, tensor._wants, tensor.output_nr = AsStridedBackward0(base, tensor), True, 0
    return tensor._wants


def strided(tensor: Any, layout: Layout) -> Any:
    """The memory of a tensor through any layout: what `as_strided` returns."""
    view, writes = tensor.over(tensor.storage, layout), tensor.storage.writes
    view._base = tensor if tensor._base is None else tensor._base
    if writes:
        view._seen = writes
    if tensor._origin is not None or not state.recording:
        view._origin = inherited(tensor)
    if state.recording and tensor.requires_grad:
        view.past, view._wants = AsStridedBackward0(tensor, view), True
    return view


class ToCopyBackward0(Node):
    """Where a tensor changed device; the gradient travels back."""

    __slots__ = ("device",)

    def __init__(self, source: Any):
        super().__init__(*edge_from(source))
        self.device = source.device

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        return [grad if grad is None else grad.to(self.device)]


class CopyBackwards(Node):
    """A tensor all of whose elements were replaced by another's: the old ones have no say."""

    __slots__ = ("keeps",)

    def __init__(self, target: Any, source: Any):
        self.keeps = target._wants  # whether the first parent is the target as it was
        tensors = [t for t in (target, source) if t._wants]
        parents, numbers = [past_of(t) for t in tensors], tuple([t.output_nr for t in tensors])
        facts = target.layout.shape, target.storage.value.dtype
        super().__init__(*facts, parents, numbers if any(numbers) else None)

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        if not self.keeps:
            return [grad]
        old = grad is not None and (wanted is None or wanted[0])
        return [grad.new_zeros(grad.layout.shape) if old else None, grad]

    def edges(self) -> list[tuple[Node | None, int]]:
        known = super().edges()
        return known if self.keeps else [(None, 0), *known]


class FillBackward0(Node):
    """A tensor all of whose elements were replaced by constants: the old ones have no say."""

    __slots__ = ()

    def __init__(self, source: Any):
        super().__init__(*edge_from(source))

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        return [grad if grad is None else grad.new_zeros(grad.layout.shape)]


class AsStridedBackward0(Node):
    """A view by its layout: of `as_strided`, or of a base that was written since it was made."""

    __slots__ = ("region",)

    def __init__(self, base: Any, view: Any):
        _, dtype, parents, numbers = edge_from(base)
        super().__init__(view.layout.shape, dtype, parents, numbers)
        self.region = between(base, view)

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        return [grad if grad is None else self.region.spread(grad)]


class ApartBackward(Node):
    """Where a tensor was taken apart into views, one after the other along a dimension.

    Their gradients are joined: each of them padded, and all added, would cost the whole tensor
    for each.
    """

    __slots__ = ("dim", "facts", "whole")

    def __init__(self, source: Any, views: list[Any], dim: int):
        self.whole, dtype, parents, numbers = edge_from(source)
        self.facts = [(view.layout.shape, dtype) for view in views]
        super().__init__(*self.facts[0], parents, numbers)
        self.dim = dim
        for number, view in enumerate(views):
            view.past, view.output_nr = self, number

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return len(self.facts)

    def facts_of(self, number: int) -> tuple[tuple[int, ...], Any]:
        return self.facts[number]

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        grads = grad if self.outputs > 1 else [grad]
        known = [g for g in grads if g is not None]
        if not known:
            return [None]
        dim, whole = self.dim, self.whole
        layers = len(self.shape) < len(whole)
        if layers and len(known) == len(grads):
            return [known[0]._stack(tuple(known), dim)]
        pieces = []
        for is_known, stretch in groupby(range(len(grads)), lambda k: grads[k] is not None):
            if is_known:
                pieces += [grads[k].unsqueeze(dim) if layers else grads[k] for k in stretch]
            else:
                size = sum([1 if layers else self.facts[k][0][dim] for k in stretch])
                zero = known[0].new_zeros(())
                pieces.append(zero.expand((*whole[:dim], size, *whole[dim + 1 :])))
        return [known[0]._cat(tuple(pieces), dim)]


APART = {
    name: type(f"{name}Backward0", (ApartBackward,), {"__slots__": (), "__module__": __name__})
    for name in ("Split", "SplitWithSizes", "Unbind")
}


class CopySlices(Node):
    """A base into a view of which something was written.

    What was written gets the gradient there; the base as it was gets the rest.
    """

    __slots__ = ("keeps", "region")

    def __init__(self, base: Any, view: Any, source: Any):
        parents: list[Node] = []
        numbers: list[int] = []
        self.keeps = base._wants  # whether the first parent is the base as it was
        for tensor in (base, source):
            if tensor._wants:
                parents.append(past_of(tensor))
                numbers.append(tensor.output_nr)
        facts = base.layout.shape, base.storage.value.dtype
        super().__init__(*facts, parents, tuple(numbers) if any(numbers) else None)
        self.region = between(base, view)

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        if grad is None:
            return [None] * len(self.parents)
        parts = [self.region.cleared] if self.keeps else []
        if len(self.parents) > len(parts):
            parts.append(self.region.taken)
        wanted = wanted or [True] * len(parts)
        return [part(grad) if want else None for part, want in zip(parts, wanted, strict=True)]

    def edges(self) -> list[tuple[Node | None, int]]:
        known = super().edges()
        return known if self.keeps else [(None, 0), *known]


def edge_from(tensor: Any) -> tuple:
    """(shape, dtype, parents, numbers) of a node that stands on one tensor."""
    parent, number = past_of(tensor), tensor.output_nr
    facts = tensor.layout.shape, tensor.storage.value.dtype
    return *facts, [parent], (number,) if number else None
