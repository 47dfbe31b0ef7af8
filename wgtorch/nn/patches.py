"""Images cut into windows and put together again, and channels dealt out over space."""

from __future__ import annotations

import itertools
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.integers import integer, sizes


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C r^2, H, W) as (..., C, H r, W r)."""
    r = integer("pixel_shuffle", "upscale_factor", upscale_factor, 2)
    *batch, channels, height, width = planes("pixel_shuffle", input)
    if r < 1 or channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of"
            f" upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    parts = input.reshape(*batch, channels // (r * r), r, r, height, width)
    n = len(batch)
    order = [*range(n + 1), n + 3, n + 1, n + 4, n + 2]
    return parts.permute(order).reshape(*batch, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H r, W r) as (..., C r^2, H, W)."""
    r = integer("pixel_unshuffle", "downscale_factor", downscale_factor, 2)
    *batch, channels, height, width = planes("pixel_unshuffle", input)
    for name, size in (("height", height), ("width", width)):
        if r < 1 or size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but"
                f" input.size({-2 if name == 'height' else -1})={size} is not divisible by {r}"
            )
    parts = input.reshape(*batch, channels, height // r, r, width // r, r)
    n = len(batch)
    order = [*range(n + 1), n + 2, n + 4, n + 1, n + 3]
    return parts.permute(order).reshape(*batch, channels * r * r, height // r, width // r)


def planes(name: str, input: Tensor) -> list[int]:
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with"
            f" {input.ndim} dimension(s)"
        )
    return list(input.shape)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels (dimension 1) dealt out: the first of each group, then the second, and so on."""
    channels = input.shape[1] if input.ndim > 1 else 0
    if input.ndim < 3 or groups < 1 or channels % groups:
        raise RuntimeError(
            "channel_shuffle expects at least 3 dimensions and channels that can be divided by"
            f" groups, but got a shape of {list(input.shape)} and {groups} groups"
        )
    shape = (input.shape[0], groups, channels // groups, *input.shape[2:])
    return input.reshape(shape).transpose(1, 2).reshape(input.shape)


def planar(op: str, *values: Any) -> list[tuple[int, ...]]:
    names = ("kernel_size", "dilation", "padding", "stride")
    pairs = zip(names, values, strict=True)
    return [sizes(op, name, value, place, 2) for place, (name, value) in enumerate(pairs, 2)]


def windows(shape, kernel, dilation, padding, stride) -> list[int]:
    """How many windows there are along each dimension."""
    for name, values in (("kernel size", kernel), ("dilation", dilation), ("stride", stride)):
        if min(values) < 1:
            raise RuntimeError(f"{name} should be greater than zero, but got {values}")
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got {padding}")
    found = []
    for n, k, d, p, s in zip(shape, kernel, dilation, padding, stride, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1) // s + 1
        if count < 1:
            raise RuntimeError(
                f"Given a size of {tuple(shape)}, kernel_size={kernel}, dilation={dilation},"
                f" padding={padding}, stride={stride}: the array of sliding blocks would have"
                f" {count} blocks along a dimension, but it must be at least one"
            )
        found.append(count)
    return found


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The windows of images (N, C, H, W) as columns: (N, C kh kw, windows)."""
    single = input.ndim == 3
    images = input.unsqueeze(0) if single else input
    if images.ndim != 4:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero"
            f" dimensions for input, but got: {list(input.shape)}"
        )
    kernel, dilate, pad, step = planar("im2col", kernel_size, dilation, padding, stride)
    rows, columns = windows(images.shape[2:], kernel, dilate, pad, step)
    padded = images.constant_pad_nd((pad[1], pad[1], pad[0], pad[0]))
    parts = []
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        y, x = i * dilate[0], j * dilate[1]
        parts.append(
            padded[:, :, y : y + step[0] * (rows - 1) + 1 : step[0],
                   x : x + step[1] * (columns - 1) + 1 : step[1]]
        )  # fmt: skip
    batch, channels = images.shape[:2]
    out = wgtorch.stack(parts, 2).reshape(batch, channels * len(parts), rows * columns)
    return out.squeeze(0) if single else out


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Columns (N, C kh kw, windows) added up where their windows lie: (N, C, H, W)."""
    single = input.ndim == 2
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and"
            f" non-zero dimensions for input, but got: {list(input.shape)}"
        )
    columns_ = input.unsqueeze(0) if single else input
    size = sizes("col2im", "output_size", output_size, 2, 2)
    kernel, dilate, pad, step = planar("col2im", kernel_size, dilation, padding, stride)
    taps = kernel[0] * kernel[1]
    rows, columns = windows(size, kernel, dilate, pad, step)
    batch, total, count = columns_.shape
    if total % taps or count != rows * columns:
        raise RuntimeError(
            f"fold: input of shape {list(input.shape)} does not hold windows of {taps} elements at"
            f" {rows} x {columns} places of an output of {size}"
        )
    parts = columns_.reshape(batch, total // taps, taps, rows, columns)
    out = columns_.new_zeros((batch, total // taps, size[0] + 2 * pad[0], size[1] + 2 * pad[1]))
    for k, (i, j) in enumerate(itertools.product(range(kernel[0]), range(kernel[1]))):
        y, x = i * dilate[0], j * dilate[1]
        out[:, :, y : y + step[0] * (rows - 1) + 1 : step[0],
            x : x + step[1] * (columns - 1) + 1 : step[1]] += parts[:, :, k]  # fmt: skip
    out = out[:, :, pad[0] : pad[0] + size[0], pad[1] : pad[1] + size[1]]
    return out.squeeze(0) if single else out
