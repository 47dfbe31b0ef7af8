"""Ops that stand on sorting: the order, the largest few, the middle one, the different ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import bool_, int32, int64
from wgtorch.layout import wrap_dim
from wgtorch.op import Map, Other, composite, declare, results
from wgtorch.ops.samples import apart, integers, normal


def pair(op: str, *values: Any) -> Any:
    return results(op, ("values", "indices"))(*values)


@composite(samples=lambda rng: [((apart(rng, 3, 5),), {"dim": 0}),
                                ((apart(rng, 3, 5),), {"descending": True})])  # fmt: skip
def sort(input, dim: int = -1, descending: bool = False, stable: bool = False):
    "(values in order along dim, where they were). Always stable; NaN is above all."
    wrap_dim(dim, input.ndim)
    return input._sort(dim, bool(descending))


@composite(samples=lambda rng: [((apart(rng, 3, 5),), {"dim": 0})])
def argsort(input, dim: int = -1, descending: bool = False, stable: bool = False):
    "Where the elements in order along dim were."
    wrap_dim(dim, input.ndim)
    return input.detach()._sort(dim, bool(descending))[1]


@composite(samples=lambda rng: [((apart(rng, 5, 3),), {})])
def msort(input):
    "In order along the first dim."
    return input._sort(0, False)[0]


@composite(apart="all", samples=lambda rng: [((apart(rng, 3, 9), 4), {}),
                                ((apart(rng, 9, 3), 2, 0, False), {})])  # fmt: skip
def topk(input, k: int, dim: int = -1, largest: bool = True, sorted: bool = True):
    "(the k largest, or smallest, along dim, where they were), in order."
    axis = wrap_dim(dim, input.ndim)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if k and input.ndim and k < input.shape[axis]:
        return pair("topk", *input._few(k, axis, bool(largest)))
    values, indices = input._sort(axis, bool(largest))
    if not input.ndim:
        return pair("topk", values, indices)
    return pair("topk", values._slice(axis, 0, k), indices._slice(axis, 0, k))


@composite(
    apart="all", samples=lambda rng: [((apart(rng, 3, 9), 4), {}), ((apart(rng, 3, 9), 2, 0), {})]
)
def kthvalue(input, k: int, dim: int = -1, keepdim: bool = False):
    "(the k-th smallest along dim, where it was); k counts from 1."
    axis = wrap_dim(dim, input.ndim)
    if input.ndim and not input.shape[axis]:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(axis))
    return chosen("kthvalue", input, axis, keepdim, k - 1)


def chosen(op: str, input, axis: int, keepdim: bool, place: Any):
    """The element at `place` of the order: a number, or a tensor of one for each row."""
    values, indices = input._sort(axis, False)
    if not input.ndim:
        return pair(op, values, indices)
    if isinstance(place, int):
        values, indices = (x._slice(axis, place, place + 1) for x in (values, indices))
    else:
        values, indices = values.gather(axis, place), indices.gather(axis, place)
    if not keepdim:
        values, indices = values.squeeze(axis), indices.squeeze(axis)
    return pair(op, values, indices)


def middle(op: str, input, dim: int | None, keepdim: bool, skips_nan: bool):
    if dim is None:
        if not input.numel():
            return input.new_full((), float("nan") if input.is_floating_point() else 0)
        return middle(op, input.reshape((-1,)), 0, False, skips_nan)[0]
    axis = wrap_dim(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    if not size:
        raise IndexError(f"{op}(): Expected reduction dim {axis} to have non-zero size.")
    if not input.is_floating_point() or not input.ndim:
        return chosen(op, input, axis, keepdim, (size - 1) // 2)
    count = (~input.detach().isnan()).sum(axis, True)  # NaNs come last: the first is at `count`
    if skips_nan:
        place = ((count - 1) >> 1).clamp(min=0)
    else:
        place = count.masked_fill(count == size, (size - 1) // 2)
    return chosen(op, input, axis, keepdim, place)


@composite(
    apart="all", samples=lambda rng: [((apart(rng, 3, 6),), {}), ((apart(rng, 3, 6),), {"dim": 1})]
)
def median(input, dim: int | None = None, keepdim: bool = False):
    "The lower of the two in the middle; with dim, (values, indices) along it. NaN if there is one."
    return middle("median", input, dim, keepdim, False)


@composite(
    apart="all", samples=lambda rng: [((apart(rng, 3, 6),), {}), ((apart(rng, 3, 6),), {"dim": 1})]
)
def nanmedian(input, dim: int | None = None, keepdim: bool = False):
    "As `median`, of what is not NaN."
    return middle("nanmedian", input, dim, keepdim, True)


@composite(apart="all", samples=lambda rng: [((integers(rng, 3, 40),), {"dim": 1})])
def mode(input, dim: int = -1, keepdim: bool = False):
    "(the most frequent along dim, the smallest of those; where it is)."
    axis = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return pair("mode", input.clone(), input.new_zeros((), dtype=int64))
    size = input.shape[axis]
    if not size:
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    values, indices = input._sort(axis, False)
    steps = counted(input, axis)
    starts = steps.masked_fill(same_as_before(values.detach(), axis), 0).cummax(axis)[0]
    end = (steps - starts).argmax(axis, True)
    values, indices = values.gather(axis, end), indices.gather(axis, end)
    if not keepdim:
        values, indices = values.squeeze(axis), indices.squeeze(axis)
    return pair("mode", values, indices)


def counted(input, axis: int):
    """0, 1, 2 ... along an axis, in the shape of the input."""
    ones = input.new_ones((1,), dtype=int64).expand(tuple(input.shape))
    return ones.cumsum(axis) - 1


def same_as_before(values, axis: int):
    """Whether each element equals the one before it; the first does not."""
    size = values.shape[axis]
    same = values._slice(axis, 1, size) == values._slice(axis, 0, size - 1)
    return same.new_zeros(tuple(values.shape)).slice_scatter(same, axis, 1, size)


# Where values would go


def found_shape(sorted_sequence, input, right, out_int32):
    if not input and len(sorted_sequence) != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor"
            " dimension is 1, but we got boundaries tensor"
            f" dim({len(sorted_sequence)}) and input value's dim(0) numel(1)"
        )
    if not sorted_sequence:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0"
            " dimension"
        )
    if len(sorted_sequence) > 1 and sorted_sequence[:-1] != input[:-1]:
        raise RuntimeError(
            f"torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1"
            f" dimensions of boundaries tensor and input value tensor must match, but we got"
            f" boundaries tensor {list(sorted_sequence)} and input value tensor {list(input)}"
        )
    return input


def found(sorted_sequence: np.ndarray, input: np.ndarray, right: bool) -> np.ndarray:
    side = "right" if right else "left"
    if sorted_sequence.ndim <= 1:
        return np.searchsorted(sorted_sequence, input, side)
    out = np.empty(input.shape, np.int64)
    for place in np.ndindex(input.shape[:-1]):
        out[place] = np.searchsorted(sorted_sequence[place], input[place], side)
    return out


@declare(
    Map,
    shape=found_shape,
    dtype=lambda sorted_sequence, input, right, out_int32: int32 if out_int32 else int64,
    shader="searchsorted.wgsl",
    numbers=lambda facts: (
        facts.layouts[0].shape[-1],
        facts.layouts[1].shape[-1] if facts.layouts[1].shape else 1,
        int(len(facts.layouts[0].shape) == 1),
        int(facts.attrs["right"]),
    ),
    places=lambda facts: {"sorted_sequence": facts.layouts[0], "input": facts.layouts[1]},
    samples=lambda rng: [
        ((np.sort(normal(rng, 9)), normal(rng, 3, 4)), {"right": False, "out_int32": False}),
        ((np.sort(integers(rng, 2, 9)), integers(rng, 2, 5)), {"right": True, "out_int32": True}),
    ],
)
def _searchsorted(sorted_sequence, input, right: bool, out_int32: bool):
    "Where in a sorted row each value would keep it sorted."
    return found(sorted_sequence, input, right)


@composite(
    samples=lambda rng: [
        ((np.sort(normal(rng, 9)), normal(rng, 3, 4)), {}),
        ((np.sort(integers(rng, 9)), integers(rng, 7)), {"side": "right"}),
    ]
)
def searchsorted(sorted_sequence, input, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Other = None):  # fmt: skip
    "Where in a sorted row each value would go: before its equals, or behind them if `right`."
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while"
            " right was True"
        )
    if sorter is not None:
        sorted_sequence = in_order(sorted_sequence, sorter)
    if not hasattr(input, "layout"):
        input = sorted_sequence.new_full((), input)
    return searched(sorted_sequence, input, right or side == "right", out_int32)


def in_order(sequence, sorter):
    if sorter.dtype is not int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype"
            f" {sorter.dtype.short}"
        )
    if sorter.shape != sequence.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary"
            f" tensor {list(sequence.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    return sequence.gather(-1, sorter)


def searched(sorted_sequence, input, right: bool, out_int32: bool):
    if sorted_sequence.dtype is bool_ and input.dtype is bool_:
        raise NotImplementedError("\"searchsorted_out_cpu\" not implemented for 'Bool'")
    return sorted_sequence.detach()._searchsorted(input.detach(), right, out_int32)


@composite(samples=lambda rng: [((normal(rng, 3, 4), np.sort(normal(rng, 9))), {})])
def bucketize(input, boundaries, *, out_int32: bool = False, right: bool = False):
    "Which bucket between sorted boundaries each value is in; with `right`, bounds are their first."
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    if not hasattr(input, "layout"):
        input = boundaries.new_full((), input)
    return searched(boundaries, input, bool(right), out_int32)
