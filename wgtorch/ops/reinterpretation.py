"""Reinterpretation: the same bytes as elements of another dtype, `x.view(dtype)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import DType, asked
from wgtorch.layout import Layout
from wgtorch.op import ViewOp, declare


def by_dtype(door):
    """`view`, which takes a size or a dtype."""

    def call(input, *args, **given):
        first = type(args[0]) if args else None
        if first is int or first is tuple:
            return door(input, *args, **given)
        if first is type or "dtype" in given or (args and isinstance(args[0], DType)):
            return reinterpreted(input, asked(given.get("dtype", *args)))
        if first in (str, float):
            raise TypeError(
                f"view(): argument 'size' (position 1) must be tuple of ints, not {first.__name__}"
            )
        return door(input, *args, **given)

    return call


def reinterpreted(input: Any, dtype: DType) -> Any:
    if dtype is input.dtype:
        return input.view(input.layout.shape)
    if dtype.encoding is not None or input.dtype.encoding is not None:
        raise RuntimeError(
            f"view(dtype): one of {input.dtype} and {dtype} is made of other tensors, and has no"
            f" bytes to be seen as elements; use .to({dtype}) for its numbers"
        )
    home = input.device.backend
    if hasattr(home, "check"):
        home.check(dtype, input.layout.numel)
    return input.detach()._view_dtype(dtype, input.dtype)


def same_bytes(layout: Layout, dtype: DType, before: DType) -> Layout:
    """Only the last dimension changes its size."""
    if dtype.itemsize == before.itemsize:
        return layout
    told = f"to view {before.short} as {dtype.short} (different element sizes)"
    if not layout.shape:
        raise RuntimeError(f"self.dim() cannot be 0 {told}")
    *sizes, last = layout.shape
    *strides, step = layout.strides
    if step != 1 and last > 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {told}, but got {step}")
    if dtype.itemsize < before.itemsize:
        ratio = before.itemsize // dtype.itemsize
        return Layout.of(
            (*sizes, last * ratio), (*[s * ratio for s in strides], 1), layout.offset * ratio
        )
    ratio = dtype.itemsize // before.itemsize
    numbers = {"self.size(-1)": last, "self.storage_offset()": layout.offset}
    numbers |= {f"self.stride({d})": stride for d, stride in enumerate(strides)}
    for what, number in numbers.items():
        if number % ratio:
            raise RuntimeError(f"{what} must be divisible by {ratio} {told}, but got {number}")
    return Layout.of(
        (*sizes, last // ratio), (*[s // ratio for s in strides], 1), layout.offset // ratio
    )


@declare(
    ViewOp,
    layout=same_bytes,
    dtype=lambda old, dtype, before: dtype,
    torch="none",
)
def _view_dtype(input, dtype: object, before: object):
    "The same bytes as elements of `dtype`; they are of `before`."
    return np.ascontiguousarray(input).view(dtype.np)
