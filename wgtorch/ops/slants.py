"""Views that walk memory at a slant: diagonals, and windows that overlap."""

from __future__ import annotations

import numpy as np

from wgtorch.layout import Layout, wrap_dim
from wgtorch.op import ViewOp, composite, declare
from wgtorch.ops.samples import normal


def diagonal_layout(layout: Layout, offset: int, dim1: int, dim2: int) -> Layout:
    rank = len(layout.shape)
    a, b = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return layout.diagonal(offset, a, b)


@declare(
    ViewOp,
    layout=diagonal_layout,
    vjp={
        "input": lambda grad, input_shape, offset, dim1, dim2: grad.new_zeros(
            input_shape
        ).diagonal_scatter(grad, offset, dim1, dim2)
    },
    samples=lambda rng: [
        ((normal(rng, 3, 4, 5),), {"offset": 1, "dim1": 0, "dim2": 2}),
        ((normal(rng, 4, 3),), {"offset": -2}),
    ],
)
def diagonal(input, offset: int = 0, dim1: int = 0, dim2: int = 1):
    "The elements with equal index in `dim1` and `dim2` (shifted by `offset`), as the last dim."
    return np.diagonal(input, offset, dim1, dim2)


def unfold_layout(layout: Layout, dimension: int, size: int, step: int) -> Layout:
    rank = len(layout.shape)
    axis = wrap_dim(dimension, rank)
    have = layout.shape[axis] if rank else 1
    if size > have:
        raise RuntimeError(
            f"maximum size for tensor at dimension {axis} is {have} but size is {size}"
        )
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not rank:
        return Layout.of((size,), (1,), layout.offset)
    return layout.windows(axis, size, step)


@declare(
    ViewOp,
    layout=unfold_layout,
    vjp={
        "input": lambda grad, input_shape, dimension, size, step: grad.new_zeros(
            input_shape
        )._unfold_add(grad, dimension, size, step)
    },
    samples=lambda rng: [((normal(rng, 7, 3),), {"dimension": 0, "size": 3, "step": 2})],
    torch="Tensor.unfold",
)
def unfold(input, dimension: int, size: int, step: int):
    "All windows of `size` elements, `step` apart, along `dimension`, as a new last dim."
    windows = np.lib.stride_tricks.sliding_window_view(input, size, dimension)
    index = (slice(None),) * (dimension % input.ndim) + (slice(None, None, step),)
    return windows[index]


@composite(method=True, samples=None)
def _unfold_add(input, grad, dimension: int, size: int, step: int):
    "`input` plus what each window of `unfold` has for it."
    if not size or not input.ndim:
        return input + grad.summed_to(()) if size else input
    dim = wrap_dim(dimension, input.ndim)
    row = overlapped(grad.movedim(dim, -2), step).movedim(-1, dim)
    rest = input.shape[dim] - row.shape[dim]
    return input + row.constant_pad_nd((0, 0) * (input.ndim - 1 - dim) + (0, rest))


def overlapped(windows, step: int):
    """Windows (..., count, size) added up where they overlap, each `step` further than the last.

    They are cut into parts of `step`: then whole rows of parts are added.
    """
    *batch, count, size = windows.shape
    turns = -(-size // step)
    parts = windows.constant_pad_nd((0, turns * step - size)).reshape((*batch, count, turns, step))
    total = None
    for turn in range(turns):
        part = parts.select(-2, turn).constant_pad_nd((0, 0, turn, turns - 1 - turn))
        total = part if total is None else total + part
    row = total.reshape((*batch, (count + turns - 1) * step))
    return row.narrow(-1, 0, (count - 1) * step + size)
