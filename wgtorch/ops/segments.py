"""Folds of neighbouring segments of a dimension, and histograms of several dimensions."""

from __future__ import annotations

from math import inf, nan, prod
from typing import Any

import numpy as np

from wgtorch.dtype import int64
from wgtorch.op import composite
from wgtorch.ops.batched import holds_somewhere
from wgtorch.ops.statistics import equal_edges, given_edges
from wgtorch.settled import results
from wgtorch.storage import View

FOLDS = {"sum": ("sum", 0), "mean": ("sum", 0), "prod": ("prod", 1), "max": ("amax", -inf),
         "amax": ("amax", -inf), "min": ("amin", inf), "amin": ("amin", inf)}  # fmt: skip


def numbers_of_segments(lengths: Any, size: int) -> Any:
    """For each element along the last dimension the number of its segment."""
    ends = lengths.cumsum(-1)
    places = lengths.new_tensor(np.arange(size), dtype=int64).expand(
        (*lengths.layout.shape[:-1], size)
    )
    return ends._searchsorted(places.contiguous(), True, False)


def checked_lengths(lengths: Any, offsets: Any, axis: int, size: int, unsafe: bool) -> Any:
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if lengths is None:
        return offsets.diff()
    if not unsafe:
        if holds_somewhere(lengths < 0):
            raise RuntimeError("lengths contains negative value!")
        if lengths.ndim != axis + 1 or holds_somewhere(lengths.sum(-1) != size):
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to"
                " data.size(lengths.dim()-1) when !unsafe."
            )
    return lengths


@composite(samples=None, method=False)
def segment_reduce(data, reduce: str, *, lengths: Any = None, indices: Any = None,
                   offsets: Any = None, axis: int = 0, unsafe: bool = False,
                   initial: Any = None):  # fmt: skip
    """Sum, mean, max, min or prod of each segment along axis, one result beside the other.

    Segments follow each other; their `lengths`, or where they start and the last ends (`offsets`),
    may differ for each index of the dimensions before axis. Each fold starts with `initial`. Waits
    for the lengths to be checked, unless `unsafe`.
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if reduce not in FOLDS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if not data.is_floating_point():
        raise NotImplementedError(
            f"\"_segment_reduce_cpu\" not implemented for '{data.dtype.short}'"
        )
    shape = data.layout.shape
    axis = axis + data.ndim if axis < 0 else axis
    lengths = checked_lengths(lengths, offsets, axis, shape[axis], unsafe)
    rest = (1,) * (data.ndim - 1 - axis)
    index = numbers_of_segments(lengths, shape[axis]).reshape((*shape[: axis + 1], *rest))
    name, start = FOLDS[reduce]
    start = start if initial is None else initial
    sizes = (*shape[:axis], lengths.layout.shape[-1], *shape[axis + 1 :])
    out = data.new_full(sizes, start).scatter_reduce(axis, index.expand(shape), data, name)
    if reduce != "mean":
        return out
    counts = lengths.reshape((*lengths.layout.shape, *rest)).to(data.dtype)
    mean = out / counts.clamp(min=1)
    return mean.masked_fill(counts == 0, nan if initial is None else initial)


def edges_of(points: Any, bins: Any, range: Any) -> list[Any]:
    """For each dimension of the points (n, dims) the edges of its bins."""
    dims = points.layout.shape[1]
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    ranges = [None] * dims
    if range is not None:
        if len(range) != 2 * dims:
            raise RuntimeError(
                f"torch.histogramdd: for a {dims}-dimensional histogram range should have"
                f" {2 * dims} elements, but got {len(range)}"
            )
        ranges = list(zip(range[::2], range[1::2], strict=True))
    columns = [points.select(1, d) for d in np.arange(dims).tolist()]
    return [
        given_edges(x, b) if isinstance(b, View) else equal_edges(x, int(b), ends)
        for x, b, ends in zip(columns, bins, ranges, strict=True)
    ]


@composite(samples=None, method=False)
def histogramdd(input, bins, *, range: Any = None, weight: Any = None, density: bool = False):
    """(hist, bin_edges): how many points (the last dimension of the input) fall into each box.

    `bins`: into how many equal parts each dimension is cut (one int for all), within `range` (two
    ends for each dimension; default: the data's), or the edges themselves, a list of vectors.
    `weight` is how much each point counts; a `density` has an integral of 1.
    """
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if not input.is_floating_point():
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{input.dtype.short}'")
    points = input.detach().reshape((-1, input.layout.shape[-1]))
    edges = edges_of(points, bins, range)
    sizes = tuple(e.layout.numel - 1 for e in edges)
    box = inside = None
    for d, (ends, size) in enumerate(zip(edges, sizes, strict=True)):
        x = points.select(1, d).contiguous()
        within = (x >= ends[0]) & (x <= ends[size])
        place = (ends._searchsorted(x, True, False) - 1).clamp(0, size - 1)
        box, inside = (place, within) if box is None else (box * size + place, inside & within)
    one = points.new_ones((1,)).expand((points.layout.shape[0],))
    counted = one if weight is None else weight.detach().reshape((-1,))
    hist = points.new_zeros((prod(sizes),)).scatter_add(0, box, counted.masked_fill(~inside, 0))  # type: ignore[operator]
    hist = hist.reshape(sizes)
    if density:
        hist = hist / hist.sum()
        for d, ends in enumerate(edges):
            hist = hist / ends.diff().reshape((-1,) + (1,) * (len(sizes) - 1 - d))
    return results("histogramdd", ("hist", "bin_edges"))(hist, tuple(edges))
