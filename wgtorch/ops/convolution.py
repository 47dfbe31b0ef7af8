"""Convolutions as PyTorch calls them: one number or several, with words for paddings, with or
without a batch dimension. What they compute is in correlation.py."""

from __future__ import annotations

from typing import Any

from wgtorch.op import Maybe, composite
from wgtorch.ops.samples import normal

RANKS = {1: "2D (unbatched) or 3D (batched)", 2: "3D (unbatched) or 4D (batched)"}


def each(name: str, value: Any, dims: int) -> tuple[int, ...]:
    """A number for each dimension, from one for all or one for each."""
    if isinstance(value, int):
        return (value,) * dims
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} must be an int or a tuple of ints, not {type(value).__name__}")
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values * dims
    if len(values) != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the"
            f" convolution dimensions, but got {name}={list(values)}"
        )
    return values


def check_rank(input: Any, dims: int, name: str) -> None:
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {RANKS[dims]} input to {name}, but got input of size: {list(input.shape)}"
        )


def convolve(name: str, dims: int, input, weight, bias, stride, padding, dilation, groups: int):
    check_rank(input, dims, name)
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.ndim != dims + 2:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight"
            f" {list(weight.shape)}, but got {input.ndim}-dimensional input of size"
            f" {list(input.shape)} instead"
        )
    stride, dilation = each("stride", stride, dims), each("dilation", dilation, dims)
    drop: tuple[int, ...] = (0,) * dims
    if isinstance(padding, str):
        padding, drop = worded(padding, weight, stride, dilation)
    padding = each("padding", padding, dims)
    batched = input if input.ndim == dims + 2 else input.unsqueeze(0)
    out = batched.convolution(weight, bias, stride, padding, dilation, False, (0,) * dims, groups)
    for d, start in enumerate(drop, 2):
        if start:
            out = out.narrow(d, start, out.shape[d] - start)
    return out if batched is input else out.squeeze(0)


def worded(padding: str, weight, stride, dilation) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(padding, places at the front too many) of "valid" and "same". "same" pads an odd number
    with the greater half behind: with as much before, there is one place too many."""
    dims = len(stride)
    if padding == "valid":
        return (0,) * dims, (0,) * dims
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for k, d in zip(weight.shape[2:], dilation, strict=True)]
    return tuple(-(-t // 2) for t in totals), tuple(t % 2 for t in totals)


def spread(
    name: str, dims: int, input, weight, bias, stride, padding, output_padding, groups, dilation
):
    check_rank(input, dims, name)
    stride, padding = each("stride", stride, dims), each("padding", padding, dims)
    dilation, more = each("dilation", dilation, dims), each("output_padding", output_padding, dims)
    batched = input if input.ndim == dims + 2 else input.unsqueeze(0)
    out = batched.convolution(weight, bias, stride, padding, dilation, True, more, groups)
    return out if batched is input else out.squeeze(0)


@composite(
    samples=lambda rng: [
        ((normal(rng, 2, 3, 9), normal(rng, 4, 3, 3), normal(rng, 4)), {"padding": 1}),
        ((normal(rng, 4, 11), normal(rng, 6, 2, 2)), {"stride": 2, "dilation": 3, "groups": 2}),
        ((normal(rng, 2, 3, 8), normal(rng, 2, 3, 4)), {"padding": "same"}),
    ],
    torch="nn.functional.conv1d",
    method=False,
)
def conv1d(input, weight, bias: Maybe = None, stride=1, padding=0, dilation=1, groups: int = 1):
    """Each place's window of `input` (n, c, l) or (c, l) times each `weight` (m, c / groups, k),
    summed: (n, m, places). `padding` is a number, "valid" or "same"."""
    return convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@composite(
    samples=lambda rng: [
        ((normal(rng, 2, 3, 6, 5), normal(rng, 4, 3, 3, 2), normal(rng, 4)), {"padding": 1}),
        ((normal(rng, 2, 3, 8, 8), normal(rng, 4, 3, 1, 1), normal(rng, 4)), {}),
        ((normal(rng, 4, 9, 7), normal(rng, 6, 2, 2, 3), normal(rng, 6)),
         {"stride": (2, 1), "dilation": (1, 2), "padding": (0, 2), "groups": 2}),
        ((normal(rng, 2, 2, 5, 6), normal(rng, 3, 2, 2, 4)), {"padding": "same"}),
    ],
    torch="nn.functional.conv2d",
    method=False,
)  # fmt: skip
def conv2d(input, weight, bias: Maybe = None, stride=1, padding=0, dilation=1, groups: int = 1):
    """Each place's window of `input` (n, c, h, w) or (c, h, w) times each `weight`
    (m, c / groups, *k), summed: (n, m, *places). `padding` is a number or two, "valid" or "same".
    """
    return convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@composite(
    samples=lambda rng: [
        ((normal(rng, 2, 3, 5), normal(rng, 3, 4, 3), normal(rng, 4)), {"stride": 2}),
        ((normal(rng, 4, 5), normal(rng, 4, 3, 2)), {"groups": 2, "padding": 1, "dilation": 3}),
    ],
    torch="nn.functional.conv_transpose1d",
    method=False,
)
def conv_transpose1d(
    input, weight, bias: Maybe = None, stride=1, padding=0, output_padding=0, groups: int = 1,
    dilation=1,
):  # fmt: skip
    """The gradient of `conv1d` with respect to its input, as a layer: `input` (n, m, l),
    `weight` (m, c / groups, k)."""
    return spread(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


@composite(
    samples=lambda rng: [
        ((normal(rng, 2, 3, 4, 5), normal(rng, 3, 2, 3, 2), normal(rng, 2)),
         {"stride": (2, 3), "output_padding": (1, 2), "padding": 1}),
        ((normal(rng, 4, 5, 4), normal(rng, 4, 3, 2, 3), normal(rng, 6)),
         {"groups": 2, "padding": (0, 1)}),
    ],
    torch="nn.functional.conv_transpose2d",
    method=False,
)  # fmt: skip
def conv_transpose2d(
    input, weight, bias: Maybe = None, stride=1, padding=0, output_padding=0, groups: int = 1,
    dilation=1,
):  # fmt: skip
    """The gradient of `conv2d` with respect to its input, as a layer: `input` (n, m, h, w),
    `weight` (m, c / groups, *k)."""
    return spread(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip
