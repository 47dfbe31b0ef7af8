"""Ops that join each element with all before it, along one dim."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.layout import wrap_dim
from wgtorch.op import Scan, composite, declare
from wgtorch.ops.samples import apart, integers, normal


def scanned(values=normal):
    def samples(rng):
        yield (values(rng, 3, 5),), {"dim": 0}
        yield (values(rng, 3, 8, 4),), {"dim": 1}
        yield (values(rng, 5, 12),), {"dim": -1}
        yield (values(rng, 300).reshape(300, 1).T,), {"dim": 1}

    return samples


def both_ways(values=normal):
    def samples(rng):
        for args, attrs in scanned(values)(rng):
            yield args, attrs
            yield args, attrs | {"reverse": True}

    return samples


def same(input: tuple[int, ...], dim: int, reverse: bool = False) -> tuple[int, ...]:
    wrap_dim(dim, len(input))
    return input


def twice(input: tuple[int, ...], dim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return same(input, dim), input


def accumulated(ufunc: Any, input: np.ndarray, dim: int, reverse: bool = False):
    if not input.ndim:
        return input.copy()
    array, kind = np.flip(input, dim) if reverse else input, input.dtype
    if input.size > BLOCK and kind.kind in "fc" and input.ndim == 1:
        out = in_blocks(ufunc, array)
    else:
        out = ufunc.accumulate(array, dim, WIDE[kind.kind])
        out = out.astype(kind) if kind.kind in "fc" else out
    return np.flip(out, dim) if reverse else out


def in_blocks(ufunc: Any, array: np.ndarray) -> np.ndarray:
    """A vector accumulated in wide floats, of which only a block is there at a time."""
    out, wide = np.empty_like(array), np.empty(BLOCK, WIDE[array.dtype.kind])
    carry = ufunc.identity
    for start in range(0, len(array), BLOCK):
        part = array[start : start + BLOCK]
        block = wide[: len(part)]
        block[...] = part
        block[0] = ufunc(carry, block[0])
        ufunc.accumulate(block, out=block)
        carry = block[-1]
        out[start : start + BLOCK] = block
    return out


BLOCK = 1 << 15


WIDE = dict.fromkeys("biu", np.int64) | {"f": np.float64, "c": np.complex128}  # by numpy's kinds


# Sums


@declare(
    Scan,
    shape=same,
    combine="a + b",
    identity="0",
    folds="sum",
    vjp={"input": lambda grad, dim, reverse: grad._cumsum(dim, not reverse)},
    samples=both_ways(),
    complex=True,
)
def _cumsum(input, dim: int, reverse: bool = False):
    "Sum of the elements up to each along dim; from the end if `reverse`."
    return accumulated(np.add, input, dim, reverse)


@composite(
    apart="part",
    samples=lambda rng: [
        ((normal(rng, 3, 5),), {"dim": 1}),
        ((integers(rng, 3, 5),), {"dim": 0}),
    ],
    inplace=True,
)
def cumsum(input, dim: int, *, dtype: object = None):
    "Sum of the elements up to each along dim. Integers are added as int64."
    return input._cumsum(dim) if dtype is None else input.to(dtype)._cumsum(dim).to(dtype)


# Products


def next_to(x, dim: int, forward: bool):
    """Each element's neighbour: the one before it, or the one behind; 0 at the end."""
    size = x.shape[dim]
    kept = x._slice(dim, 0, size - 1) if forward else x._slice(dim, 1, size)
    begin = 1 if forward else 0
    return x.new_zeros(tuple(x.shape)).slice_scatter(kept, dim, begin, begin + size - 1)


def of_shift(grad, scale, dim, reverse):
    return next_to(scale, dim, reverse)._recurrence(grad, dim, not reverse)


@declare(
    Scan,
    shape=lambda scale, shift, dim, reverse=False: same(scale, dim),
    state="Affine",
    enter="affine(scale, shift)",
    combine="after(a, b)",
    identity="no_affine()",
    leave="a.shift",
    vjp={
        "scale": lambda grad, scale, result, dim, reverse: (
            of_shift(grad, scale, dim, reverse) * next_to(result, dim, not reverse)
        ),
        "shift": of_shift,
    },
    samples=lambda rng: [
        ((normal(rng, *x.shape), x), attrs) for (x,), attrs in both_ways(normal)(rng) if x.size < 99
    ],
    complex=True,
)
def _recurrence(scale, shift, dim: int, reverse: bool = False):
    "h, each scale times the h before it plus shift; the first is shift."
    if not shift.ndim:
        return shift.copy()
    steps = range(shift.shape[dim])
    rows, out = np.moveaxis(shift, dim, 0), np.empty_like(shift)
    scales, into = np.moveaxis(scale, dim, 0), np.moveaxis(out, dim, 0)
    h = np.zeros(rows.shape[1:], shift.dtype)
    for n in reversed(steps) if reverse else steps:
        h = scales[n] * h + rows[n]
        into[n] = h
    return out


def of_product(grad, input, result, dim):
    """The product before each element, times what stands on it: right beside zeros."""
    if not input.ndim:
        return grad
    before = next_to(result, dim, True)
    first = before.new_ones((1,)).expand(tuple(before._slice(dim, 0, 1).shape))
    before = before.slice_scatter(first, dim, 0, 1)
    return before * next_to(input, dim, False)._recurrence(grad, dim, True)


@declare(
    Scan,
    shape=same,
    combine="a * b",
    identity="1",
    folds="sum",
    vjp={"input": of_product},
    samples=scanned(lambda rng, *shape: (1 + 0.1 * normal(rng, *shape)).astype(np.float32)),
    complex=True,
)
def _cumprod(input, dim: int):
    "Product of the elements up to each along dim."
    return accumulated(np.multiply, input, dim)


@composite(
    apart="part",
    samples=lambda rng: [
        ((normal(rng, 3, 5),), {"dim": 1}),
        ((np.array([[2, 0, 3, 4], [1, 0, 5, 0]], np.float32),), {"dim": 1}),
        ((integers(rng, 3, 5),), {"dim": 0}),
    ],
    inplace=True,
)
def cumprod(input, dim: int, *, dtype: object = None):
    "Product of the elements up to each along dim. Integers are multiplied as int64."
    return input._cumprod(dim) if dtype is None else input.to(dtype)._cumprod(dim).to(dtype)


# Extremes


def scattered(grad, indices, input_shape, dim):
    if not input_shape:
        return grad
    return grad.new_zeros(input_shape).scatter_add(dim, indices, grad)


def best_so_far(input: np.ndarray, dim: int, ufunc: Any):
    """(values, places): the latest of equals; NaN beats all."""
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    values = ufunc.accumulate(input, dim)
    here = input == values
    if input.dtype.kind == "f":
        here |= np.isnan(input)
    steps = np.arange(input.shape[dim]).reshape([-1 if d == dim % input.ndim else 1
                                                 for d in range(input.ndim)])  # fmt: skip
    return values, np.maximum.accumulate(np.where(here, steps, 0), dim)


@declare(
    Scan,
    shape=twice,
    combine="above(a, b)",
    identity="lowest",
    arg=True,
    result=("same", "index"),
    outputs=("values", "indices"),
    vjp={"input": scattered},
    samples=lambda rng: [*scanned(apart)(rng), ((integers(rng, 4, 9),), {"dim": 1})],
)
def cummax(input, dim: int):
    "(largest of the elements up to each along dim, where it is); the latest of equals."
    return best_so_far(input, dim, np.maximum)


@declare(
    Scan,
    shape=twice,
    combine="below(a, b)",
    identity="highest",
    arg=True,
    result=("same", "index"),
    outputs=("values", "indices"),
    vjp={"input": scattered},
    samples=lambda rng: [*scanned(apart)(rng), ((integers(rng, 4, 9),), {"dim": 1})],
)
def cummin(input, dim: int):
    "(smallest of the elements up to each along dim, where it is); the latest of equals."
    return best_so_far(input, dim, np.minimum)


# Logarithms of sums


def of_logcumsumexp(grad, input, result, dim, reverse):
    """exp(input - result) times a recurrence from the other end. The result never falls, so that
    each scale is at most 1 and nothing overflows."""
    if not input.ndim:
        return grad
    share = (input - result).exp()
    size = max(input.shape[dim], 1)
    before, behind = result._slice(dim, 0, size - 1), result._slice(dim, 1, size)
    rise = before - behind if not reverse else behind - before
    rise = rise.masked_fill(before.isinf() & (before == behind), 0)
    start = int(reverse)
    scale = grad.new_ones(tuple(input.shape)).slice_scatter(
        rise.exp(), dim, start, start + size - 1
    )
    return share * scale._recurrence(grad, dim, not reverse)


@declare(
    Scan,
    shape=same,
    state="Peak",
    enter="peak_of(x)",
    combine="merge_peaks(a, b)",
    identity="no_peak()",
    leave="log_of_peak(a)",
    vjp={"input": of_logcumsumexp},
    samples=both_ways(),
)
def _logcumsumexp(input, dim: int, reverse: bool = False):
    "log of the sum of exponentials up to each along dim; from the end if `reverse`."
    return accumulated(np.logaddexp, input, dim, reverse)


@composite(apart="part", samples=lambda rng: [((normal(rng, 3, 5),), {"dim": 1})])
def logcumsumexp(input, dim: int):
    "log of the sum of exponentials up to each along dim, without overflow."
    if input.dtype.is_complex:
        if not input.numel():
            return input.cumsum(dim)
        peak = input.real.detach().amax(dim, True)
        return (input - peak).exp().cumsum(dim).log() + peak
    if not input.is_floating_point():
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{input.dtype.short}'"
        )
    return input._logcumsumexp(dim)
