"""A Region is a view's place within its base, for gradients that have the shape of the base."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wgtorch.dtype import int64
from wgtorch.layout import Layout


class Region:
    """Where the elements of `view` sit in a tensor laid out like `base`.

    A gradient of the base is first brought into the memory that the two span, as one axis; there
    the strides of the view mean what they mean in the base.
    """

    __slots__ = ("base", "plain", "span", "view")

    def __init__(self, base: Layout, view: Layout):
        start = min(base.offset, view.offset)
        self.span = max(base.extent, view.extent) - start
        self.base = Layout.of(base.shape, base.strides, base.offset - start)
        self.view = Layout.of(view.shape, view.strides, view.offset - start)
        self.plain = self.base.is_plain and base.numel == self.span

    def flat(self, grad: Any) -> Any:
        """The gradient of the base as the memory it spans."""
        if self.plain:
            return grad.reshape((self.span,))
        memory = grad.new_zeros((self.span,))
        seen(memory, self.base).copy_(grad)
        return memory

    def shaped(self, memory: Any) -> Any:
        return memory.reshape(self.base.shape) if self.plain else seen(memory, self.base)

    def taken(self, grad: Any) -> Any:
        """The part of a gradient of the base that belongs to the view."""
        return seen(self.flat(grad).contiguous(), self.view)

    def cleared(self, grad: Any) -> Any:
        """The gradient of the base with zeros where the view is."""
        memory = self.flat(grad).clone()
        seen(memory, self.view).zero_()
        return self.shaped(memory)

    def spread(self, grad: Any) -> Any:
        """A gradient of the view as one of the base: zeros elsewhere, shared elements added up.

        A place that several elements of the base share is worth one gradient: each gets its part.
        """
        memory = grad.new_zeros((self.span,))
        repeated = [d for d, n in enumerate(self.view.shape) if n > 1 and not self.view.strides[d]]
        if repeated:
            grad = grad.sum(tuple(repeated), True)
        once = Layout.of(grad.layout.shape, self.view.strides, self.view.offset)
        if distinct(once):
            seen(memory, once).copy_(grad)
        else:
            places = grad.new_tensor(positions(once), dtype=int64)
            memory = memory.index_add(0, places, grad.reshape((prod(once.shape),)))
        if not distinct(self.base):
            sharing = np.bincount(positions(self.base), minlength=self.span)
            memory = memory / memory.new_tensor(np.maximum(sharing, 1))
        return self.shaped(memory)


class PartsRegion(Region):
    """A Region where one of base and view is complex, the other its parts: parts are counted."""

    __slots__ = ("of_complex",)

    def __init__(self, base: Layout, view: Layout, of_complex: bool):
        super().__init__(parts_of(base) if of_complex else base,
                         view if of_complex else parts_of(view))  # fmt: skip
        self.of_complex = of_complex  # whether the base is the complex one

    def taken(self, grad: Any) -> Any:
        if self.of_complex:
            return super().taken(grad.view_as_real())
        return paired(super().taken(grad))

    def cleared(self, grad: Any) -> Any:
        if not self.of_complex:
            return super().cleared(grad)
        return paired(super().cleared(grad.view_as_real()))

    def spread(self, grad: Any) -> Any:
        if not self.of_complex:
            return super().spread(grad.view_as_real())
        return paired(super().spread(grad))


def between(base: Any, view: Any) -> Region:
    """Where the elements of one tensor are in the memory of another."""
    a, b = base.storage.value.dtype, view.storage.value.dtype
    if a.is_complex is b.is_complex:
        return Region(base.layout, view.layout)
    return PartsRegion(base.layout, view.layout, a.is_complex)


def paired(parts: Any) -> Any:
    """Parts, in memory of their own, as complex numbers."""
    row = parts.reshape((parts.layout.numel,)).clone()
    return row.reshape(parts.layout.shape).view_as_complex()


def parts_of(layout: Layout) -> Layout:
    """Of complex numbers: their parts, as a new last axis."""
    strides = tuple([2 * stride for stride in layout.strides])
    return Layout.of((*layout.shape, 2), (*strides, 1), 2 * layout.offset)


def seen(memory: Any, layout: Layout) -> Any:
    """One axis of memory through a layout that counts from its start."""
    return memory.as_strided(layout.shape, layout.strides, memory.layout.offset + layout.offset)


def distinct(layout: Layout) -> bool:
    """Whether no two elements share a place; not always known, and then False."""
    axes = [(s, n) for s, n in zip(layout.strides, layout.shape, strict=True) if n > 1]
    reach = 0
    for stride, size in sorted(axes):
        if stride <= reach:
            return False
        reach += stride * (size - 1)
    return True


def positions(layout: Layout) -> np.ndarray:
    """The place in memory of every element, in order."""
    places = np.full(layout.shape, layout.offset, np.int64)
    for axis, (size, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        steps = np.arange(size, dtype=np.int64) * stride
        places += steps.reshape([-1 if d == axis else 1 for d in range(len(layout.shape))])
    return places.reshape(-1)
