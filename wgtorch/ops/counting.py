"""Counting how often each number occurs. Few different ones are counted in workgroups' own memory,
in the same pass that finds the least and the largest of them.
"""

from __future__ import annotations

import numpy as np

from wgtorch.dtype import bool_, float32, float64, int32, int64
from wgtorch.op import Facts, Index, Pass, Structured, composite, declare
from wgtorch.ops.batched import each_sample, is_batched
from wgtorch.ops.samples import normal

GROUP = 256
CELLS = 4096  # numbers that every adapter's workgroups can count: 16 KiB
LIKELY = 1024  # so many places are tried before it is known how many are needed
MOST_PARTS = 512
ABREAST = 32  # places that a workgroup of the second pass joins

LAST = (1 << 31) - 1  # what the first pass counts to
BEYOND = (1 << 63) - 1


def occurrences_plan(facts: Facts) -> list[Pass]:
    layout, attrs = facts.layouts[0], facts.attrs
    places, count = attrs["places"], layout.numel
    parts = max(1, min(MOST_PARTS, count // CELLS))
    copies = 1 << (min(CELLS // places, GROUP).bit_length() - 1)
    width = places + 2
    return [
        Pass("occurrences.wgsl", (parts, 1, 1),
             (count, attrs["first"], places, copies, -(-count // parts)), ("input",),
             ("partials",), (f"const CELLS = {CELLS}u;",), (("partials", int32, width * parts),),
             places=(("input", layout),)),
        Pass("occurrences_parts.wgsl", (-(-width // ABREAST), 1, 1), (places, parts),
             ("partials",)),
    ]  # fmt: skip


@declare(
    Structured,
    shape=lambda input, first, places: (places + 2,),
    dtype=lambda input, first, places: int64,
    plan=occurrences_plan,
    promotes=False,
    samples=lambda rng: [
        ((rng.integers(-2, 9, 70), 1, 5), {}),
        ((rng.integers(0, 3, (4, 5)).T, 0, 3), {}),
    ],
    torch="none",
)
def _occurrences(input: Index, first: int, places: int):
    """How often each of so many numbers from `first` on occurs; then the least and the largest of
    all numbers (of 32 bits: what is beyond counts as the last of those)."""
    low, high = np.clip([input.min(), input.max()], -LAST, LAST)
    found = input.reshape(-1).astype(np.int64, copy=False) - first
    if low < first or high >= first + places:
        found = found[(found >= 0) & (found < places)]
    return np.concatenate((np.bincount(found, minlength=places), (low, high)))


def few_numbers(input, first: int, places: int):
    """(the least, the largest, how often each number from `first` on occurs), for one wait."""
    found = input.detach()._occurrences(first, places)
    low, high = found._slice(0, places, places + 2).tolist()
    return low, high, found


def ends(input) -> tuple[int, int]:
    "(the least, the largest) of integers, for one wait."
    low, high = (x.reshape((1,)) for x in input.detach().aminmax())
    least, largest = low._cat([low, high], 0).tolist()
    return least, largest


def check_room(input, size: int) -> None:
    """Whether so many counts can be had at all; asked before a byte of them is written."""
    input.new_empty((size,), dtype=int64)


@composite(
    samples=lambda rng: [
        ((rng.integers(0, 5, 20),), {}),
        ((rng.integers(0, 5, 20), normal(rng, 20)), {"minlength": 8}),
    ]
)
def bincount(input, weights=None, minlength: int = 0):
    "How often each number occurs in a vector of them (or the sum of its `weights`). Waits."
    if input.dtype.is_floating_point or input.dtype is bool_:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype.short}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if is_batched(input):
        often = each_sample("bincount", lambda x: x.bincount(minlength=minlength), input)
        if weights is None or not input.numel():
            return often
        return sums(input, weights, often.layout.shape[0])  # which have gradients
    places, found, low, high = max(minlength, LIKELY), None, -(input.ndim != 1), -1
    if input.ndim == 1 and input.numel():
        if weights is None and places <= CELLS:
            low, high, found = few_numbers(input, 0, places)
        if found is None or high == LAST:
            low, high = ends(input)
    if low < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    check_weights(input, weights)
    if high + 1 > BEYOND:
        raise RuntimeError(
            f"maximum value of input overflowed, it should be < {BEYOND} but got {high}"
        )
    size = max(minlength, high + 1)
    if found is not None and size <= CELLS:
        found = found if size <= places else input._occurrences(0, size)
        return found._slice(0, 0, size).clone()
    if input.is_cpu:
        check_room(input, size)
    index = input.to(int64)
    if weights is None or not input.numel():
        ones = index.new_full((), 1, dtype=int32).expand(index.layout.shape)
        often = index.new_zeros((size,), dtype=int32)
        return often.scatter_add(0, index, ones).to(int64)
    return sums(index, weights, size)


def check_weights(input, weights) -> None:
    if weights is not None and weights.layout.shape != input.layout.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")


def sums(index, weights, size: int):
    "Of the weights of each number below `size`."
    check_weights(index, weights)
    if weights.dtype not in (float32, float64):
        weights = weights.to(float64 if weights.is_cpu else float32)
    return weights.new_zeros((size,)).scatter_add(0, index.to(int64), weights)
