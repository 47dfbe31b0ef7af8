"""Classes: what a target that names one picks out of each row of scores, and what it passes back.

Classes lie along dimension 1 (0 of a vector). What an index of `ignore_index` stands for is 0.
"""

from __future__ import annotations

import numpy as np

from wgtorch.dtype import DType, float32
from wgtorch.errors import OutOfRangeError
from wgtorch.layout import Layout, without
from wgtorch.op import Facts, Index, Map, Other, Pass, Structured, declare
from wgtorch.ops.samples import normal

BEYOND = "Target {index} is out of bounds."
LEAST, MOST = -(1 << 31), (1 << 31) - 1  # what kernels read indices as


def axis_of(rank: int) -> int:
    return 1 if rank > 1 else 0


def ignored(facts: Facts) -> int:
    return min(max(facts.attrs["ignore_index"], LEAST), MOST)


def floats(input: DType, index: DType, **attrs) -> DType:
    if input.category != 2:
        raise NotImplementedError(f"\"nll_loss_out_frame\" not implemented for '{input.short}'")
    return input


def picking_samples(rng):
    yield (normal(rng, 4, 5), rng.integers(0, 5, 4)), {}
    yield (normal(rng, 5, 4).T, np.array([1, 3, 1, 0])), {"ignore_index": 1}
    yield (normal(rng, 2, 3, 4), np.array([[0, 2, -7, 1], [2, -7, 0, 0]])), {"ignore_index": -7}
    yield (normal(rng, 5), np.array(2)), {}


def picked_places(facts: Facts) -> dict[str, Layout]:
    input, index = facts.layouts[:2]
    axis = axis_of(len(input.shape))  # type: ignore[union-attr]
    beside = without(input.shape, axis), without(input.strides, axis)  # type: ignore[union-attr]
    return {"base": Layout.of(*beside, input.offset), "index": index}  # type: ignore


def picked_numbers(facts: Facts) -> tuple[int, int, int]:
    input = facts.layouts[0]
    axis = axis_of(len(input.shape))  # type: ignore[union-attr]
    return input.strides[axis], input.shape[axis], ignored(facts)  # type: ignore[union-attr]


@declare(
    Map,
    shader="class_loss.wgsl",
    shape=lambda input, index, ignore_index: index,
    dtype=floats,
    numbers=picked_numbers,
    places=picked_places,
    complaint=lambda facts: BEYOND,
    promotes=False,
    vjp={
        "input": lambda grad, input_shape, index, ignore_index: grad._class_loss_backward(
            index, input_shape[axis_of(len(input_shape))], ignore_index
        )
    },
    samples=picking_samples,
)
def _class_loss(input, index: Index, ignore_index: int = -100):
    "-input at the class that `index` names."
    axis, counts = axis_of(input.ndim), index != ignore_index
    place = np.where(counts, index, 0)
    wrong = place[(place < 0) | (place >= input.shape[axis])]
    if wrong.size:
        raise OutOfRangeError(BEYOND.format(index=int(wrong[0])))
    picked = np.take_along_axis(input, np.expand_dims(place, axis), axis).squeeze(axis)
    return np.where(counts, -picked, input.dtype.type(0))


def spread_shape(input: tuple[int, ...], index: tuple[int, ...], size: int, **_) -> tuple[int, ...]:
    axis = axis_of(len(input) + 1)
    return (*input[:axis], size, *input[axis:])


def spread_places(facts: Facts) -> dict[str, Layout]:
    """The gradient and the index of each element, and its class."""
    input, index = [spread(layout, facts) for layout in facts.layouts[:2]]
    return {"input": input, "index": index, "class_of": class_of(facts)}


def spread(layout, facts: Facts) -> Layout:
    """What has no classes, the same for all of them."""
    axis = axis_of(len(facts.out.shape))
    strides = (*layout.strides[:axis], 0, *layout.strides[axis:])
    return Layout.of(facts.out.shape, strides, layout.offset)


def class_of(facts: Facts) -> Layout:
    shape = facts.out.shape
    axis = axis_of(len(shape))
    return Layout.of(shape, tuple([int(d == axis) for d in range(len(shape))]), 0)


def spread_samples(rng):
    for (input, index), attrs in picking_samples(rng):
        size = input.shape[axis_of(input.ndim)]
        yield (normal(rng, *index.shape), index, size), attrs


@declare(
    Map,
    shader="class_loss_backward.wgsl",
    shape=spread_shape,
    dtype=floats,
    numbers=lambda facts: (ignored(facts),),
    places=spread_places,
    promotes=False,
    vjp={"input": lambda grad, index, ignore_index: grad._class_loss(index, ignore_index)},
    samples=spread_samples,
)
def _class_loss_backward(input, index: Index, size: int, ignore_index: int = -100):
    "-input at the class that `index` names, of `size` classes; 0 elsewhere."
    axis = axis_of(input.ndim + 1)
    classes = np.arange(size).reshape((-1,) + (1,) * (input.ndim - axis))
    here = np.expand_dims(np.where(index == ignore_index, -1, index), axis) == classes
    return np.where(here, -np.expand_dims(input, axis), input.dtype.type(0))


# The mean of few, in one kernel


def mean_samples(rng):
    yield from picking_samples(rng)
    yield (normal(rng, 300, 3), rng.integers(0, 3, 300)), {"ignore_index": 0}


def mean_plan(facts: Facts) -> Pass:
    numbers = facts.layouts[1].numel, *picked_numbers(facts)  # type: ignore[union-attr]
    places = tuple(picked_places(facts).items())
    return Pass("class_mean.wgsl", (1, 1, 1), numbers, ("input", "index"), ("_out", "share"),
                places=places, complaint=BEYOND)  # fmt: skip


@declare(
    Structured,
    shape=lambda input, index, ignore_index: ((), ()),
    dtype=lambda input, index, ignore_index: (
        floats(input, index),
        float32 if input.itemsize < 4 else input,
    ),
    outputs=("_out", "share"),
    plan=mean_plan,
    promotes=False,
    vjp={
        "input": lambda grad, input_shape, index, share, ignore_index: grad._class_mean_backward(
            index, share, input_shape[axis_of(len(input_shape))], ignore_index
        )
    },
    samples=mean_samples,
)
def _class_mean(input, index: Index, ignore_index: int = -100):
    "(the mean of -input at the class that `index` names, 1 / how many count)."
    count = np.count_nonzero(index != ignore_index)
    total = _class_loss.reference(input, index, ignore_index).sum(dtype=np.float64)
    return np.divide(total, count), np.divide(1.0, count)


def mean_grad_samples(rng):
    for (input, index), attrs in picking_samples(rng):
        count = np.count_nonzero(index != attrs.get("ignore_index", -100))
        share = np.float32(1) / np.asarray(count, np.float32)
        yield (normal(rng), index, share, input.shape[axis_of(input.ndim)]), attrs


@declare(
    Map,
    shader="class_mean_backward.wgsl",
    shape=lambda input, index, share, size, ignore_index: spread_shape(index, index, size),
    dtype=lambda input, index, share, **attrs: floats(input, index),
    numbers=lambda facts: (ignored(facts),),
    places=lambda facts: {
        "input": facts.layouts[0],
        "index": spread(facts.layouts[1], facts),
        "share": facts.layouts[2],
        "class_of": class_of(facts),
    },
    promotes=False,
    vjp={"input": lambda grad, index, ignore_index: grad._class_mean(index, ignore_index)[0]},
    derived=("share",),
    samples=mean_grad_samples,
)
def _class_mean_backward(input, index: Index, share: Other, size: int, ignore_index: int = -100):
    "-input * share at the class that `index` names, of `size` classes; 0 elsewhere."
    each = np.broadcast_to((input * share).astype(input.dtype), index.shape)
    return _class_loss_backward.reference(each, index, size, ignore_index)
