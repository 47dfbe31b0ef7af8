"""A Region is a view's place within its base, for gradients that have the shape of the base."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wgtorch.layout import Layout


class Region:
    """Where the elements of `view` sit in a tensor laid out like `base`.

    A gradient of the base is first brought into the base's own layout (`flat`: the memory it
    spans, as one axis); there the strides of the view mean what they mean in the base.
    """

    __slots__ = ("base", "offset", "plain", "span", "view")

    def __init__(self, base: Layout, view: Layout):
        self.base, self.view = base, view
        self.plain = base.is_contiguous
        self.offset = view.offset - base.offset
        self.span = base.numel if self.plain else base.extent - base.offset

    def flat(self, grad: Any) -> Any:
        """The gradient of the base as the memory it spans."""
        if self.plain:
            return grad.reshape((self.span,))
        memory = grad.new_zeros((self.span,))
        memory.as_strided(self.base.shape, self.base.strides, 0).copy_(grad)
        return memory

    def shaped(self, memory: Any) -> Any:
        if self.plain:
            return memory.reshape(self.base.shape)
        return memory.as_strided(self.base.shape, self.base.strides, memory.layout.offset)

    def inside(self, memory: Any) -> Any:
        view = self.view
        return memory.as_strided(view.shape, view.strides, memory.layout.offset + self.offset)

    def taken(self, grad: Any) -> Any:
        """The part of a gradient of the base that belongs to the view."""
        return self.inside(whole(self.flat(grad)))

    def cleared(self, grad: Any) -> Any:
        """The gradient of the base with zeros where the view is."""
        memory = self.flat(grad).clone()
        self.inside(memory).zero_()
        return self.shaped(memory)

    def spread(self, grad: Any) -> Any:
        """A gradient of the view as one of the base: zeros elsewhere, shared elements added up."""
        memory = grad.new_zeros((self.span,))
        repeated = [d for d, n in enumerate(self.view.shape) if n > 1 and not self.view.strides[d]]
        if repeated:
            grad = grad.sum(tuple(repeated), True)
        once = Layout.of(grad.layout.shape, self.view.strides, self.offset)
        if distinct(once):
            memory.as_strided(once.shape, once.strides, self.offset).copy_(grad)
        else:
            places = grad.new_tensor(positions(once))
            memory = memory.index_add(0, places, grad.reshape((prod(once.shape),)))
        return self.shaped(memory)


def whole(memory: Any) -> Any:
    """Contiguous memory of its own, as `as_strided` must find it."""
    return memory.contiguous()


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
