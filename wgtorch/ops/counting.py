"""Counting how often each number occurs."""

from __future__ import annotations

from wgtorch.dtype import bool_, float32, float64, int64
from wgtorch.op import composite
from wgtorch.ops.samples import normal


def ends(input) -> tuple[int, int]:
    "(the least, the largest) of integers, for one wait."
    low, high = (x.reshape((1,)) for x in input.detach().aminmax())
    least, largest = low._cat([low, high], 0).tolist()
    return least, largest


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
    low, high = ends(input) if input.ndim == 1 and input.numel() else (-(input.ndim != 1), -1)
    if low < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights.layout.shape != input.layout.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    size = max(minlength, high + 1)
    index = input.to(int64)
    if weights is None or not input.numel():
        ones = index.new_full((), 1).expand(index.layout.shape)
        return index.new_zeros((size,)).scatter_add(0, index, ones)
    if weights.dtype not in (float32, float64):
        weights = weights.to(float64 if weights.is_cpu else float32)
    return weights.new_zeros((size,)).scatter_add(0, index, weights)
