"""Resampling: along one dimension, each element of the result is a few neighbours of the input,
weighted, as resizing images asks. Bands say which: a row for each element, the place of the first
neighbour and then the weights. The gradient is the same with the bands of the transposed matrix.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from wgtorch.dtype import float32, float64, int32
from wgtorch.errors import with_room
from wgtorch.layout import Layout
from wgtorch.op import Facts, Map, Other, declare
from wgtorch.ops.indexing import spread_base
from wgtorch.ops.samples import normal

SMOOTH = {"bilinear": 1, "bicubic": 2, "lanczos": 3}  # how far a filter reaches
CUBIC = -0.75  # the slope that PyTorch's bicubic has at the ends


class Way(NamedTuple):
    """How to resize: the mode of `interpolate`, the factor if one was given, whether corners stay
    corners, and whether what shrinks is smoothed."""

    mode: str
    factor: float | None = None
    corners: bool = False
    smooth: bool = False

    def step(self, size: int, out: int) -> float:
        return size / out if self.factor is None else 1 / self.factor


# Which neighbours, and how much of each


@lru_cache(maxsize=64)
def both_bands(size: int, out: int, way: Way) -> tuple[np.ndarray, np.ndarray]:
    """Of `size` elements that become `out`, and of the gradient."""
    rows, places, weights = taken(size, out, way)
    places = np.clip(places, 0, size - 1)
    return banded(out, rows, places, weights), banded(size, places, rows, weights)


@lru_cache(maxsize=64)
def whole_bands(size: int, out: int, way: Way) -> tuple[np.ndarray, int]:
    """(bands, b): in units of 1 / 2^b, the finest in which the largest weight is below 2^15."""
    bands = both_bands(size, out, way)[0].copy()
    most = bands[:, 1:].max()
    bits = 0
    while bits < 22 and int(0.5 + most * (2 << bits)) < 1 << 15:
        bits += 1
    scaled = bands[:, 1:] * (1 << bits)
    bands[:, 1:] = np.trunc(scaled + np.copysign(0.5, scaled))
    return bands, bits


def banded(count: int, rows: np.ndarray, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(count, 1 + taps) of what the elements `rows` take, element by element: the weights of the
    same place are added up. Rows that take nothing have weights of 0."""
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(first, rows, places)
    np.maximum.at(last, rows, places)
    first = np.where(last < 0, 0, first)
    bands = np.zeros((count, 1 + max(1, int((last - first).max(initial=0)) + 1)))
    bands[:, 0] = first
    np.add.at(bands, (rows, 1 + places - first[rows]), weights)
    return bands


def taken(size: int, out: int, way: Way) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, places, weights): which elements of the output take what of the input."""
    index = np.arange(out)
    if way.mode.startswith("nearest"):
        return index, nearest(size, out, way), np.ones(out)
    if way.smooth:
        return smoothing(size, out, way)
    at = sources(size, out, way)
    low = np.floor(at).astype(np.int64)
    if way.mode == "bicubic":
        shares, before = cubic_weights(at - low), 1
    else:
        low = np.clip(low, 0, size - 1)
        share = np.clip(at - low, 0, 1)
        shares, before = [1 - share, share], 0
    count = len(shares)
    places = low[:, None] - before + np.arange(count)
    return np.repeat(index, count), places.reshape(-1), np.stack(shares, 1).reshape(-1)


def nearest(size: int, out: int, way: Way) -> np.ndarray:
    """The place of each element of the output, found in float32 as PyTorch does."""
    shift = np.float32(0.5 if way.mode == "nearest-exact" else 0.0)
    steps = (np.arange(out, dtype=np.float32) + shift) * np.float32(way.step(size, out))
    return np.clip(np.floor(steps), 0, size - 1).astype(np.int64)


def sources(size: int, out: int, way: Way) -> np.ndarray:
    """Where in the input each output element lies."""
    index = np.arange(out, dtype=np.float64)
    if way.corners:
        return index * ((size - 1) / (out - 1) if out > 1 else 0)
    at = (index + 0.5) * way.step(size, out) - 0.5
    return at if way.mode == "bicubic" else np.maximum(at, 0)


def cubic_weights(share: np.ndarray) -> list[np.ndarray]:
    """Of the four neighbours (R. Keys, "Cubic convolution interpolation", 1981)."""

    def near(x: np.ndarray) -> np.ndarray:
        return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1

    def far(x: np.ndarray) -> np.ndarray:
        return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC

    return [far(share + 1), near(share), near(1 - share), far(2 - share)]


def smoothing(size: int, out: int, way: Way) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `taken` says, of a filter that is as wide as what it shrinks."""
    step = way.step(size, out)
    if way.corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    width = max(step, 1.0)
    reach = width * SMOOTH[way.mode]
    centre = step * (np.arange(out)[:, None] + 0.5)
    start = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
    end = np.minimum((centre + reach + 0.5).astype(np.int64), size)
    places = start + np.arange(max(1, int((end - start).max(initial=0))))
    weights = FILTERS[way.mode](np.abs((places - centre + 0.5) / width)) * (places < end)
    weights = weights / weights.sum(1, keepdims=True)
    rows, taps = np.nonzero(weights)
    return rows, places[rows, taps], weights[rows, taps]


def keys(x: np.ndarray, slope: float = -0.5) -> np.ndarray:
    near = ((slope + 2) * x - (slope + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * slope
    return np.where(x < 1, near, np.where(x < 2, far, 0))


FILTERS = {
    "bilinear": lambda x: np.maximum(0, 1 - x),
    "bicubic": keys,
    "lanczos": lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0),
}


# The op


def with_bands(door):
    @with_room
    def call(input, dim, out, way, back=False):
        size, way = input.shape[dim], Way(*way)
        if input.dtype is int32:
            bands, dtype = whole_bands(size, out, way)[0], int32
        else:
            bands = both_bands(out, size, way)[1] if back else both_bands(size, out, way)[0]
            dtype = float64 if input.dtype is float64 else float32
        return door(input, input.new_tensor(bands, dtype=dtype), dim, out, way, back)

    return call


def resampled_places(facts: Facts) -> dict[str, Layout]:
    (input, bands), dim, shape = facts.layouts, facts.attrs["dim"], facts.out.shape
    steps = tuple(bands.strides[0] if d == dim else 0 for d in range(len(shape)))
    index = Layout.contiguous((shape[dim],))
    return {
        "base": spread_base(input, dim, index),
        "bands": Layout.of(shape, steps, bands.offset),
    }


def resampling_samples(rng):
    yield (normal(rng, 2, 5, 3), 1, 9, Way("bilinear")), {}
    yield (normal(rng, 7, 4), 0, 3, Way("bicubic")), {}
    yield (normal(rng, 3, 9), 1, 4, Way("bilinear", smooth=True)), {}
    yield (normal(rng, 6, 5), 1, 2, Way("nearest", 0.5)), {}


@declare(
    Map,
    shader="resample.wgsl",
    shape=lambda input, bands, dim, **attrs: (*input[:dim], bands[0], *input[dim + 1 :]),
    dtype=lambda input, bands, **attrs: input,
    numbers=lambda facts: (
        facts.layouts[0].strides[facts.attrs["dim"]],
        facts.layouts[0].shape[facts.attrs["dim"]],
        facts.layouts[1].shape[1] - 1,
    ),
    places=resampled_places,
    promotes=False,
    gate=with_bands,
    vjp={
        "input": lambda grad, input_shape, dim, out, way, back: grad._resample(
            dim, input_shape[dim], way, not back
        )
    },
    samples=resampling_samples,
    torch="none",
)
def _resample(input, bands: Other, dim: int, out: int, way: Way, back: bool = False):
    """`input` with its dimension `dim` resized to `out`; `back`, what a gradient of that size is to
    the input of such a resizing. Of int32, in units of `whole_bands`."""
    first, total = bands[:, 0].astype(np.int64), np.zeros((), bands.dtype)
    shape = [-1 if d == dim else 1 for d in range(input.ndim)]
    for t, column in enumerate(bands.T[1:]):
        weights = column.reshape(shape)
        neighbours = input.take(np.minimum(first + t, input.shape[dim] - 1), dim)
        total = total + np.where(weights != 0, weights * neighbours, 0)
    return total
