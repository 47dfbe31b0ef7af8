"""The pooling functions as PyTorch has them in one and two dimensions, and their complaints."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from wgtorch.dtype import DType, int64
from wgtorch.integers import integers
from wgtorch.op import composite
from wgtorch.ops.pooled import Window
from wgtorch.ops.samples import apart, normal
from wgtorch.ops.whole_means import whole_means


def pair(value: Any, op: str, name: str, count: int = 2) -> tuple[int, ...]:
    """One int for all, or one for each."""
    if isinstance(value, int):
        return (value,) * count
    if len(value) == 1:
        return value * count
    if len(value) != count:
        words = "a single int, or a tuple of two ints" if count == 2 else "a single int"
        raise RuntimeError(f"{op}: {name} must either be {words}")
    return value


def window(op: str, kernel_size, stride, padding, dilation=1, ceil_mode=False, count=2) -> Window:
    """The checked window; in 1-d its height is 1."""
    step = () if stride is None else integers(op, "stride", stride, 3)
    size, pad = integers(op, "kernel_size", kernel_size, 2), integers(op, "padding", padding, 4)
    return checked_window(
        op, size, step, pad, integers(op, "dilation", dilation, 5), ceil_mode, count
    )


@lru_cache(1024)
def checked_window(op, kernel_size, stride, padding, dilation, ceil_mode, count) -> Window:
    size = pair(kernel_size, op, "kernel_size", count)
    step = size if stride == () else pair(stride, op, "stride", count)
    pad, apart_ = pair(padding, op, "padding", count), pair(dilation, op, "dilation", count)
    check(op, size, step, pad, apart_)
    if count == 1:
        size, step, pad, apart_ = (1, *size), (1, *step), (0, *pad), (1, *apart_)
    return Window(size, step, pad, apart_, bool(ceil_mode))


def check(op: str, size, step, pad, apart_) -> None:
    if op == "max_pool1d":
        check_row(size[0], step[0], pad[0], apart_[0])
    if min(step) == 0:
        raise RuntimeError("stride should not be zero")
    if min(size) < 1 or min(step) < 1:
        raise RuntimeError(
            f"{op}: kernel size and stride should be greater than zero, but got kernel size"
            f" {list(size)} and stride {list(step)}"
        )
    if min(apart_) < 1:
        raise RuntimeError(
            f"dilation should be greater than zero, but got dilationH: {apart_[0]} dilationW:"
            f" {apart_[-1]}"
        )
    for p, k, a in zip(pad, size, apart_, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * a + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p},"
                f" kernel_size={k} and dilation={a}"
            )


def check_row(size: int, step: int, pad: int, apart_: int) -> None:
    """What max_pool1d says in words of its own."""
    for name, value in (("kernel_size", size), ("stride", step), ("dilation", apart_)):
        if value < 1:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if pad < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {pad}")
    if pad > size // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={pad} and"
            f" kernel_size={size}"
        )


def check_planes(input, op: str) -> None:
    """(batch, channels, height, width) or without batch; only the batch may be empty."""
    if input.ndim not in (3, 4):
        if op.startswith("avg") and input.ndim < 3:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-input.ndim},"
                f" {input.ndim - 1}], but got -3)"
            )
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    if 0 in input.shape[input.ndim - 3 :]:
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but"
            f" got:{list(input.shape)}"
        )


def check_rows(input, op: str) -> None:
    """(batch, channels, length) or without batch."""
    if op == "max_pool1d" and (input.ndim not in (2, 3) or 0 in input.shape[-2:]):
        raise RuntimeError(
            f"{op}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input,"
            f" but got:{list(input.shape)}"
        )
    if input.ndim in (2, 3):
        return
    raise RuntimeError(
        f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1"
        f" 'self' (while checking arguments for {op})"
    )


def check_kind(input, op: str, least: int = 2, also: DType | None = None) -> None:
    """Refuses categories of dtypes below `least`, and complex numbers, as PyTorch does."""
    if not least <= input.dtype.category <= 2 and input.dtype is not also:
        raise NotImplementedError(f"\"{op}\" not implemented for '{input.dtype.short}'")


def largest(input, w: Window, with_indices: bool, op: str = "max_pool2d"):
    """Of each window; the gradient goes where it was."""
    check_kind(input, op, 1)
    facts = (w.size, w.step, w.pad, w.apart)
    if not with_indices and not (input.requires_grad or input.device.level):
        return input._max_pool_value(*facts, w.ceil)
    out, places = input._max_pool(*facts, w.ceil)
    if not with_indices:
        return out
    return out, places._max_pool_indices(*facts, input.shape[-1])


MAX_SAMPLES = [
    {"kernel_size": 2},
    {"kernel_size": (3, 2), "stride": (2, 1), "padding": 1, "ceil_mode": True},
]


@composite(
    samples=lambda rng: [((apart(rng, 2, 3, 7, 6),), attrs) for attrs in MAX_SAMPLES],
    method=False,
)
def max_pool2d(input, kernel_size: object, stride: object = None, padding: object = 0,
               dilation: object = 1, ceil_mode: bool = False):  # fmt: skip
    "The largest of each window of (batch, channels, height, width), or without batch."
    w = window("max_pool2d", kernel_size, stride, padding, dilation, ceil_mode)
    check_planes(input, "max_pool2d")
    return largest(input, w, False)


@composite(
    samples=lambda rng: [((apart(rng, 2, 3, 7, 6),), attrs) for attrs in MAX_SAMPLES],
    method=False,
    torch="nn.functional.max_pool2d_with_indices",
)
def max_pool2d_with_indices(input, kernel_size: object, stride: object = None,
                            padding: object = 0, dilation: object = 1,
                            ceil_mode: bool = False):  # fmt: skip
    "(the largest of each window, where in its plane it is)."
    w = window("max_pool2d", kernel_size, stride, padding, dilation, ceil_mode)
    check_planes(input, "max_pool2d")
    return largest(input, w, True)


@composite(samples=lambda rng: [((apart(rng, 2, 3, 9), 3, 2, 1), {})], method=False)
def max_pool1d(input, kernel_size: object, stride: object = None, padding: object = 0,
               dilation: object = 1, ceil_mode: bool = False):  # fmt: skip
    "The largest of each window of (batch, channels, length), or without batch."
    check_rows(input, "max_pool1d")
    w = window("max_pool1d", kernel_size, stride, padding, dilation, ceil_mode, 1)
    check_length(input, w)
    return largest(input.unsqueeze(-2), w, False, "max_pool1d_impl").squeeze(-2)


@composite(samples=lambda rng: [((apart(rng, 2, 3, 9), 3, 2, 1), {})], method=False)
def max_pool1d_with_indices(input, kernel_size: object, stride: object = None,
                            padding: object = 0, dilation: object = 1,
                            ceil_mode: bool = False):  # fmt: skip
    "(the largest of each window, where in its row it is)."
    check_rows(input, "max_pool1d_with_indices")
    w = window("max_pool1d_with_indices", kernel_size, stride, padding, dilation, ceil_mode, 1)
    check_length(input, w)
    out, indices = largest(input.unsqueeze(-2), w, True)
    return out.squeeze(-2), indices.squeeze(-2)


def check_length(input, w: Window) -> None:
    count = w.count(input.shape[-1], 1)
    if count < 1:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")


# Means


@composite(
    samples=lambda rng: [
        ((normal(rng, 2, 3, 7, 6),), {"kernel_size": 2}),
        ((normal(rng, 2, 3, 7, 6), 3, 2, 1, True, False), {}),
        ((normal(rng, 3, 7, 6), (3, 2), 2, 1, False, True, 5), {}),
    ],
    method=False,
    torch="nn.functional.avg_pool2d",
)
def avg_pool2d(input, kernel_size: object, stride: object = None, padding: object = 0,
               ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None):  # fmt: skip
    "The mean of each window of (batch, channels, height, width), or without batch."
    w = window("avg_pool2d", kernel_size, stride, padding, 1, ceil_mode)
    check_planes(input, "avg_pool2d")
    check_kind(input, "avg_pool2d", also=int64)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if input.dtype is int64:
        axes = [*zip(w.size, w.step, w.pad, strict=True)]
        return whole_means(input, axes, w.ceil, count_include_pad, divisor_override or 0)
    return input._avg_pool(w.size, w.step, w.pad, w.ceil, bool(count_include_pad),
                           divisor_override or 0)  # fmt: skip


@composite(samples=lambda rng: [((normal(rng, 2, 3, 9), 3, 2, 1), {})], method=False)
def avg_pool1d(input, kernel_size: object, stride: object = None, padding: object = 0,
               ceil_mode: bool = False, count_include_pad: bool = True):  # fmt: skip
    "The mean of each window of (batch, channels, length), or without batch."
    check_rows(input, "avg_pool1d")
    check_kind(input, "avg_pool1d", also=int64)
    w = window("avg_pool1d", kernel_size, stride, padding, 1, ceil_mode, 1)
    if input.dtype is int64:
        axes = [(w.size[1], w.step[1], w.pad[1])]
        return whole_means(input, axes, w.ceil, count_include_pad, 0)
    out = input.unsqueeze(-2)._avg_pool(w.size, w.step, w.pad, w.ceil, bool(count_include_pad), 0)
    return out.squeeze(-2)
