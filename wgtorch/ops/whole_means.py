"""Whole means: of windows of int64, whose sums are divided towards zero."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wgtorch.dtype import int64
from wgtorch.ops.pooled import Window


def whole_means(input: Any, axes: list[tuple[int, int, int]], ceil: bool, counts_pad: bool,
                divisor: int) -> Any:  # fmt: skip
    """Of windows over the last dimensions, each axis with its (size, step, padding)."""
    counts = []
    for place, (size, step, pad) in enumerate(axes):
        dim = input.ndim - len(axes) + place
        length = input.shape[dim]
        many = Window((1, size), (1, step), (0, pad), ceil=ceil).count(length, 1)
        input = sums(input, dim, many, size, step, pad)
        begins = np.arange(many) * step - pad
        stops = np.minimum(begins + size, length + pad)
        if not counts_pad:
            begins, stops = np.maximum(begins, 0), np.minimum(stops, length)
        counts.append(stops - begins)
    by = divisor or input.new_tensor(prod(np.ix_(*counts)), dtype=int64)
    return input.div(by, rounding_mode="trunc")


def sums(input: Any, dim: int, many: int, size: int, step: int, pad: int) -> Any:
    """Along one dimension."""
    behind = max(0, (many - 1) * step + size - input.shape[dim] - pad)
    after = (0, 0) * (input.ndim - 1 - dim)
    padded = input.constant_pad_nd((*after, pad, behind))
    parts = [padded._slice(dim, k, k + (many - 1) * step + 1, step) for k in range(size)]
    return sum(parts[1:], parts[0])
