"""A tensor of the level below seen through the layout that a tensor of a level has.

Recorded tensors are brought there by permuting and expanding where that does it, since those pass
gradients back cheaply; any other layout goes through `as_strided`.
"""

from __future__ import annotations

from typing import Any

from wgtorch.autograd.nodes import strided
from wgtorch.autograd.transforms import level
from wgtorch.layout import Layout


def seen(tensor: Any, layout: Layout) -> Any:
    """`layout` counts from the start of the tensor's memory."""
    have = tensor.layout
    if have is layout:
        return tensor
    if have.offset == layout.offset and have.numel and layout.numel:
        if have.is_contiguous and layout.is_contiguous and have.numel == layout.numel:
            return level.doors["reshape"](tensor, layout.shape)
        order = arrangement(have, layout)
        if order is not None:
            return arranged(tensor, layout, order)
    return strided(tensor, layout)


def arrangement(have: Layout, want: Layout) -> list[int] | None:
    """For each axis of `want` that moves the axis of `have` that it is, if those are all."""
    moving = {(s, n): d for d, (s, n) in enumerate(axes(have)) if n > 1}
    order = []
    for stride, size in axes(want):
        if size > 1 and stride:
            axis = moving.pop((stride, size), None)
            if axis is None:
                return None
            order.append(axis)
    return None if moving else order


def axes(layout: Layout) -> list[tuple[int, int]]:
    return list(zip(layout.strides, layout.shape, strict=True))


def arranged(tensor: Any, layout: Layout, order: list[int]) -> Any:
    rest = [d for d in range(len(tensor.layout.shape)) if d not in order]
    tensor = level.doors["permute"](tensor, (*order, *rest))
    once = tuple([n if s else 1 for s, n in axes(layout)])
    tensor = level.doors["reshape"](tensor, once)
    return tensor if once == layout.shape else level.doors["expand"](tensor, layout.shape)
