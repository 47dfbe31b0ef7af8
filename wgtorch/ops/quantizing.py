"""Numbers as levels that divide the range of their row, and back: what compression is made of."""

from __future__ import annotations

import numpy as np

from wgtorch.dtype import float32, uint8
from wgtorch.op import Other, Rowwise, declare, elementwise


def gridded(rng):
    """Rows whose elements are levels exactly: rounding decides nothing."""
    for shape, levels in (((3, 8), 15), ((2, 3, 16), 255), ((4, 5), 255)):
        x = rng.integers(0, levels + 1, shape)
        x[..., 0], x[..., -1] = 0, levels
        yield (((x - levels // 2) * 0.5).astype(np.float32),), {"levels": levels}


def folded(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-1], 1)


@declare(
    Rowwise,
    shape=lambda input, levels: (input, folded(input), folded(input)),
    dtype=lambda input, levels: (uint8, float32, float32),
    outputs=("levels_of", "low", "step"),
    differentiable=(False, False, False),
    shader="quantize.wgsl",
    dims=lambda shape, levels: (len(shape) - 1,),
    samples=gridded,
    torch="none",
)
def _quantize(input, levels: int):
    """(levels from 0 to `levels` of each row of floats, its least element, what a level is)."""
    low, high = input.min(-1, keepdims=True), input.max(-1, keepdims=True)
    step = high / levels - low / levels
    with np.errstate(all="ignore"):
        level = np.rint((input * 0.5 - low * 0.5) * np.where(step <= 1e-36, 0, 2 / step))
    return np.nan_to_num(np.clip(level, 0, levels)), low, step


def gridded_pairs(rng):
    for (x,), attrs in gridded(rng):
        if attrs["levels"] == 15:
            yield (x, np.ascontiguousarray(x[..., ::-1])), attrs


@declare(
    Rowwise,
    shape=lambda input, other, levels: (input, folded(input), folded(input)),
    dtype=lambda input, other, levels: (uint8, float32, float32),
    outputs=("pairs", "low", "step"),
    differentiable=(False, False, False),
    shader="quantize_pairs.wgsl",
    dims=lambda shape, levels: (len(shape) - 1,),
    samples=gridded_pairs,
    torch="none",
)
def _quantize_pairs(input, other, levels: int):
    """As `_quantize` of rows whose halves are these, but for the levels: those of `other` stand in
    the upper half of a byte, so that `levels` is 15 at most."""
    whole, low, step = _quantize.reference(np.concatenate([input, other], -1), levels)
    lower, upper = np.split(whole, 2, -1)
    return lower + 16 * upper, low, step


def leveled(rng):
    for (x,), _ in gridded(rng):
        low, step = x.min(-1, keepdims=True), np.full(folded(x.shape), 0.5, np.float32)
        yield (((x - low) / step).astype(np.uint8), low, step), {}


@elementwise(
    "(f32(levels) * (step * 0.5) + low * 0.5) * 2",  # halves: the range may be infinite
    samples=leveled,
    result="float",
    torch="none",
    inplace=False,
)
def _dequantize(levels: Other, low, step):
    "What `_quantize` wrote, as floats again."
    return (levels * (step * 0.5) + low * 0.5) * 2


def packed_bytes(rng):
    for base, count in ((16, 2), (2, 8)):
        scale = np.float32([base**-k for k in range(count)])
        packed = rng.integers(0, 256, (6, 1)).astype(np.uint8)
        yield (packed, scale), {"base": float(base), "inverse": 1 / base}


@elementwise(
    "floor(f32(packed) * scale) - base * floor(floor(f32(packed) * scale) * inverse)",
    samples=packed_bytes,
    result="float",
    torch="none",
    inplace=False,
)
def _digit(packed: Other, scale, base: float, inverse: float):
    """The digits of bytes in a base that is a power of two; `scale` is 1 / base^k of digit k, and
    `inverse` 1 / base."""
    shifted = np.floor(packed * scale)
    return shifted - base * np.floor(shifted * inverse)
