"""Sums of many numbers on the cpu. numpy adds pairwise along what lies side by side; along other
dimensions it adds one after the other, and a million float32 numbers lose three digits.
"""

from __future__ import annotations

from math import prod

import numpy as np

FEW = 1 << 12  # elements, which numpy adds well enough
ROWS = 32  # that are added one after the other


def add_up(input: np.ndarray, dim: tuple[int, ...], keepdims: bool = False) -> np.ndarray:
    """`np.add.reduce`, in the input's dtype, by steps of `ROWS` where numpy would take them all."""
    if input.size < FEW or input.dtype.kind not in "fc":
        return np.add.reduce(input, dim, input.dtype, keepdims=keepdims)
    for d in sorted(dim, key=lambda d: -abs(input.strides[d])):
        if lies_across(input, dim, d):
            while input.shape[d] > 2 * ROWS:
                input = folded_once(input, d)
            input = np.add.reduce(input, d, keepdims=True)
    return np.add.reduce(input, dim, keepdims=keepdims)


def lies_across(input: np.ndarray, dim: tuple[int, ...], d: int) -> bool:
    """Whether a dimension that stays has steps in memory that are smaller than those of `d`."""
    steps = [abs(step) for step in input.strides]
    return any([step < steps[d] for e, step in enumerate(steps) if e not in dim])


def folded_once(input: np.ndarray, d: int) -> np.ndarray:
    """With dimension `d` folded to a `ROWS`th, by adding what lies that far apart."""
    shape, length = input.shape, input.shape[d] // ROWS
    whole = (slice(None),) * d + (slice(0, ROWS * length),)
    rest = (slice(None),) * d + (slice(ROWS * length, None),)
    folded = np.add.reduce(input[whole].reshape(*shape[:d], ROWS, length, *shape[d + 1 :]), d)
    return np.concatenate([folded, input[rest]], d) if shape[d] % ROWS else folded


def average(input: np.ndarray, dim: tuple[int, ...], keepdims: bool = False) -> np.ndarray:
    return add_up(input, dim, keepdims) / np.float64(prod([input.shape[d] for d in dim]))
