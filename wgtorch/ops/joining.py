"""Tensors put together into one: end to end, as layers of a new dimension, or one over another."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.errors import ShapeError
from wgtorch.layout import Layout, remembered, wrap_dim
from wgtorch.op import Join, Tensors, composite, declare
from wgtorch.ops.arguments import no_element, several
from wgtorch.ops.bare import concatenate
from wgtorch.ops.samples import normal
from wgtorch.ops.slants import diagonal_layout
from wgtorch.ops.views import select_layout, slice_layout
from wgtorch.storage import View

# End to end


def is_nothing(shape: tuple[int, ...]) -> bool:
    """An empty vector, which cat leaves out whatever the others look like."""
    return shape == (0,)


@remembered
def check_cat(shapes: tuple[tuple[int, ...], ...], dim: int) -> int:
    """The dim, counted from the front, if these shapes go together along it."""
    for place, shape in enumerate(shapes):
        if not shape:
            raise ShapeError(
                f"zero-dimensional tensor (at position {place}) cannot be concatenated"
            )
    first = shapes[0]
    if first and not is_nothing(first) and shapes.count(first) == len(shapes):
        return wrap_dim(dim, len(first))
    counting = [shape for shape in shapes if not is_nothing(shape)]
    first = counting[0] if counting else first
    dim = wrap_dim(dim, len(first))
    for place, shape in enumerate(shapes):
        if is_nothing(shape):
            continue
        if len(shape) != len(first):
            raise ShapeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for d, (want, have) in enumerate(zip(first, shape, strict=True)):
            if d != dim and want != have:
                raise ShapeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {want}"
                    f" but got size {have} for tensor number {place} in the list."
                )
    return dim


def cat_shape(tensors: list[tuple[int, ...]], dim: int) -> tuple[int, ...]:
    dim = check_cat(tuple(tensors), dim)
    counting = [shape for shape in tensors if not is_nothing(shape)] or [tensors[0]]
    first = counting[0]
    return (*first[:dim], sum([shape[dim] for shape in counting]), *first[dim + 1 :])


def stretches(shapes, dim: int) -> list[tuple[int, int]]:
    """(start, end) of each part."""
    found, start = [], 0
    for shape in shapes:
        end = start + (0 if is_nothing(shape) else shape[dim])
        found.append((start, end))
        start = end
    return found


def cat_places(out: Layout, layouts: list[Layout], dim: int) -> list[Layout]:
    parts = stretches([layout.shape for layout in layouts], dim)
    return [out.slice(dim, start, end - start) for start, end in parts]


def cat_grads(grad, tensors_shape, dim):
    parts = zip(tensors_shape, stretches(tensors_shape, dim), strict=True)
    return [
        grad.new_zeros(shape) if is_nothing(shape) else grad._slice(dim, *part)
        for shape, part in parts
    ]


NO_CAT = ValueError, "torch.cat(): expected a non-empty list of Tensors"


@declare(
    Join,
    shape=cat_shape,
    places=cat_places,
    method=staticmethod,
    vjp={"tensors": cat_grads},
    samples=lambda rng: [(([normal(rng, 2, 3), normal(rng, 4, 3)], 0), {})],
    torch="cat",
    complex=True,
)
def _cat(tensors: Tensors, dim: int):
    "`cat`, its arguments checked."
    try:
        return concatenate(tensors, dim)
    except ValueError:  # numpy does not leave empty vectors out
        return np.concatenate([t for t in tensors if t.shape != (0,)], dim)


@composite(
    apart="all", method=False,
    aliases=("concat", "concatenate"),
    samples=lambda rng: [
        (([normal(rng, 2, 3), normal(rng, 4, 3)],), {}),
        (([normal(rng, 2, 3), normal(rng, 2, 1), normal(rng, 3, 2).T],), {"dim": -1}),
        (([normal(rng, 3, 5).T, normal(rng, 5, 2)], 1), {}),
    ],
)  # fmt: skip
def cat(tensors, dim: int = 0, *, axis: int | None = None):
    "The tensors end to end along `dim`; their other sizes agree."
    if type(tensors) not in (list, tuple) or not tensors:
        several("cat", tensors, NO_CAT)  # may complain; what is usual is spared the call
    if axis is not None:
        dim = axis
    if dim < 0:
        dim = check_cat(tuple([t.layout.shape for t in tensors]), dim)
    return tensors[0]._cat(tuple(tensors), dim)


# As layers


@declare(
    Join,
    shape=lambda tensors, dim: (*tensors[0][:dim], len(tensors), *tensors[0][dim:]),
    places=lambda out, layouts, dim: [out.select(dim, k) for k in range(len(layouts))],
    method=staticmethod,
    vjp={
        "tensors": lambda grad, tensors_shape, dim: [
            grad.select(dim, k) for k in range(len(tensors_shape))
        ]
    },
    samples=lambda rng: [(([normal(rng, 2, 3), normal(rng, 2, 3)], 1), {})],
    torch="stack",
    complex=True,
)
def _stack(tensors: Tensors, dim: int):
    "`stack`, its arguments checked."
    return np.stack(tensors, dim)


@composite(
    apart="all", method=False,
    samples=lambda rng: [
        (([normal(rng, 2, 3), normal(rng, 3, 2).T],), {}),
        (([normal(rng, 2, 3), normal(rng, 2, 3), normal(rng, 2, 3)],), {"dim": -1}),
        (([normal(rng), normal(rng)],), {}),
    ],
)  # fmt: skip
def stack(tensors, dim: int = 0, *, axis: int | None = None):
    "The tensors, all of one shape, along a new dimension `dim`."
    tensors = several("stack", tensors, (RuntimeError, "stack expects a non-empty TensorList"))
    first = tensors[0].layout.shape
    for place, t in enumerate(tensors):
        if t.layout.shape != first:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0"
                f" and {list(t.shape)} at entry {place}"
            )
    return tensors[0]._stack(tensors, wrap_dim(dim if axis is None else axis, len(first) + 1))


def matrices(rng):
    yield ([normal(rng, 2, 3), normal(rng, 2, 3)],), {}


def vectors(rng):
    yield from matrices(rng)
    yield ([normal(rng, 3), normal(rng, 3)],), {}
    yield ([normal(rng), normal(rng)],), {}


def at_least(op: str, tensors: Any, raised) -> list[Any]:
    empty = f"{op} expects a non-empty TensorList"
    tensors = several(op, tensors, (RuntimeError, empty))
    for place, t in enumerate(tensors):
        if not isinstance(t, View):
            raise no_element(place, t)
    return [raised(t) for t in tensors]


def joined(tensors: list[Any], dim: int):
    return tensors[0]._cat(tensors, check_cat(tuple([t.layout.shape for t in tensors]), dim))


def one_dim(t):
    return t if t.ndim else t.reshape((1,))


def two_dims(t):
    return t if t.ndim > 1 else t.reshape((1, t.numel()))


def three_dims(t):
    if t.ndim > 2:
        return t
    return t.unsqueeze(2) if t.ndim == 2 else t.reshape((1, t.numel(), 1))


@composite(apart="all", method=False, samples=vectors)
def hstack(tensors):
    "The tensors side by side: along dimension 1, or 0 for vectors."
    tensors = at_least("hstack", tensors, one_dim)
    return joined(tensors, 0 if tensors[0].ndim == 1 else 1)


@composite(apart="all", method=False, aliases=("row_stack",), samples=vectors)
def vstack(tensors):
    "The tensors one below the other; vectors are rows."
    tensors = at_least("vstack", tensors, two_dims)
    return joined(tensors, 0)


@composite(apart="all", method=False, samples=vectors)
def dstack(tensors):
    "The tensors one behind the other, along dimension 2."
    tensors = at_least("dstack", tensors, three_dims)
    return joined(tensors, 2)


@composite(apart="all", method=False, samples=vectors)
def column_stack(tensors):
    "The tensors side by side; vectors are columns."
    tensors = at_least(
        "column_stack", tensors, lambda t: t if t.ndim > 1 else t.reshape((t.numel(), 1))
    )
    return joined(tensors, 1)


# One over another


def overlaid(input: np.ndarray, index: Any, src: np.ndarray) -> np.ndarray:
    out = np.array(input)
    out[index] = src
    return out


def over(place_of: Any) -> dict[str, Any]:
    """Facts of an op that puts `src` where `place_of(layout, **attrs)` is in `input`."""

    def shape(input, src, **attrs):
        wanted = place_of(Layout.contiguous(input), **attrs).shape
        if src != wanted:
            raise ShapeError(
                f"expected src to have a size equal to the slice of self. src size ="
                f" {list(src)}, slice size = {list(wanted)}"
            )
        return input

    return {
        "shape": shape,
        "dtype": lambda input, src, **_: input,
        "places": lambda out, layouts, **attrs: [out, place_of(out, **attrs)],
        "promotes": False,
        "front": like_input,
    }


def like_input(door):
    """`src` in the dtype of `input`."""

    def call(input, src, *args, **given):
        return door(input, src.to(input.dtype), *args, **given)

    return call


@declare(
    Join,
    **over(slice_layout),
    vjp={
        "input": lambda grad, src_shape, dim, start, end, step: grad.slice_scatter(
            grad.new_zeros(()).expand(src_shape), dim, start, end, step
        ),
        "src": lambda grad, dim, start, end, step: grad._slice(dim, start, end, step),
    },
    samples=lambda rng: [
        ((normal(rng, 5, 3), normal(rng, 2, 3)), {"dim": 0, "start": 1, "end": -1, "step": 2}),
        ((normal(rng, 3, 5).T, normal(rng, 5, 2), 1, -2), {}),
    ],
    complex=True,
)
def slice_scatter(input, src, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1):  # fmt: skip
    "`input` with `src` in the place of the slice `start:end:step` along `dim`."
    at = (slice(None),) * (dim % input.ndim) + (slice(start, end, step),)
    return overlaid(input, at, src)


@declare(
    Join,
    **over(select_layout),
    vjp={
        "input": lambda grad, src_shape, dim, index: grad.select_scatter(
            grad.new_zeros(()).expand(src_shape), dim, index
        ),
        "src": lambda grad, dim, index: grad.select(dim, index),
    },
    samples=lambda rng: [
        ((normal(rng, 3, 4), normal(rng, 4), 0, 1), {}),
        ((normal(rng, 4, 3).T, normal(rng, 3), 1, -1), {}),
    ],
    complex=True,
)
def select_scatter(input, src, dim: int, index: int):
    "`input` with `src` in the place of `input.select(dim, index)`."
    return overlaid(input, (slice(None),) * (dim % input.ndim) + (index,), src)


@declare(
    Join,
    **over(diagonal_layout),
    vjp={
        "input": lambda grad, src_shape, offset, dim1, dim2: grad.diagonal_scatter(
            grad.new_zeros(()).expand(src_shape), offset, dim1, dim2
        ),
        "src": lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2),
    },
    samples=lambda rng: [
        ((normal(rng, 3, 4), normal(rng, 3)), {}),
        ((normal(rng, 4, 3), normal(rng, 2)), {"offset": -2}),
        ((normal(rng, 3, 4, 5), normal(rng, 4, 3)), {"offset": 1, "dim1": 0, "dim2": -1}),
    ],
    complex=True,
)
def diagonal_scatter(input, src, offset: int = 0, dim1: int = 0, dim2: int = 1):
    "`input` with `src` in the place of `input.diagonal(offset, dim1, dim2)`."
    out = np.array(input)
    offset = max(-out.shape[dim1], min(offset, out.shape[dim2]))  # numpy's are of 32 bits
    diagonal = np.diagonal(out, offset, dim1, dim2)
    diagonal.flags.writeable = True
    diagonal[...] = src
    return out


def inset_layout(out: Layout, shape: tuple[int, ...], start: tuple[int, ...]) -> Layout:
    for d, (first, size) in enumerate(zip(start, shape, strict=True)):
        out = out.slice(d, first, size)
    return out


def inset_grad(grad, starts, shape, k: int):
    for d, (first, size) in enumerate(zip(starts[k], shape, strict=True)):
        grad = grad._slice(d, first, first + size)
    return grad


@declare(
    Join,
    shape=lambda input, tensors, starts: input,
    places=lambda out, layouts, starts: [
        out,
        *(
            inset_layout(out, layout.shape, start)
            for layout, start in zip(layouts[1:], starts, strict=True)
        ),
    ],
    vjp={
        "input": lambda grad, tensors_shape, starts: grad._inset(
            [grad.new_zeros(()).expand(shape) for shape in tensors_shape], starts
        ),
        "tensors": lambda grad, tensors_shape, starts: [
            inset_grad(grad, starts, shape, k) for k, shape in enumerate(tensors_shape)
        ],
    },
    samples=lambda rng: [
        ((np.zeros((5, 6), np.float32), [normal(rng, 2, 3), normal(rng, 3, 3)]),
         {"starts": ((0, 0), (2, 3))}),
    ],
    torch="none",
    complex=True,
)  # fmt: skip
def _inset(input, tensors: Tensors, starts: tuple):
    "`input` with each of `tensors` put at its place in `starts`."
    out = np.array(input)
    for t, start in zip(tensors, starts, strict=True):
        out[tuple(slice(a, a + n) for a, n in zip(start, t.shape, strict=True))] = t
    return out
