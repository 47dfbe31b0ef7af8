"""Volumes, (N, C, D, H, W): convolutions and pools as planes that are added or pooled again."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.dispatch.write import into
from wgtorch.integers import integer, integers, sizes
from wgtorch.ops.correlation import check_channels, check_numbers, of_nothing, result_shape
from wgtorch.ops.even_pools import asked_size, check_filled, evenly_largest
from wgtorch.ops.pooled import Window
from wgtorch.ops.pools import check, check_kind
from wgtorch.ops.whole_means import whole_means


def three(op: str, **values: Any) -> list[tuple[int, ...]]:
    """Each argument as three ints."""
    return [sizes(op, name, v, place, 3) for place, (name, v) in enumerate(values.items(), 2)]


def batched(input: Tensor, name: str) -> tuple[Tensor, bool]:
    if input.ndim not in (4, 5):
        raise RuntimeError(
            f"{name}: Expected 4D (unbatched) or 5D (batched) input, but got input of size:"
            f" {list(input.shape)}"
        )
    return (input.unsqueeze(0), True) if input.ndim == 4 else (input, False)


def as_planes(volume: Tensor) -> Tensor:
    """(N, C, D, H, W) as (N D, C, H, W)."""
    n, c, d, h, w = volume.shape
    return volume.transpose(1, 2).reshape(n * d, c, h, w)


def as_volume(planes: Tensor, batch: int, depth: int) -> Tensor:
    _, c, h, w = planes.shape
    return planes.reshape(batch, depth, c, h, w).transpose(1, 2)


# Convolutions


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Windows over (N, C, D, H, W): a convolution of planes for each depth of the kernel."""
    volume, single = batched(input, "conv3d")
    step, apart = three("conv3d", stride=stride, dilation=dilation)
    biases = None if bias is None else tuple(bias.shape)
    check_numbers(step, (0,), apart, groups, (0,))
    check_channels(tuple(volume.shape), tuple(weight.shape), biases, False, groups)
    front, back, pad = margins(padding, weight, step, apart)
    kind = volume.dtype
    if kind.itemsize == 2:  # planes are added
        volume, weight = volume.float(), weight.float()
        bias = None if bias is None else bias.float()
    if isinstance(pad[0], tuple):
        volume = volume.constant_pad_nd((*pad[1], *pad[0], front, back))
        front, pad = 0, (0, 0)
    rest = (step, (front, *pad), apart, False, (0, 0, 0), groups)
    depth = result_shape(tuple(volume.shape), tuple(weight.shape), biases, *rest)[2]
    if not volume.numel():
        out = of_nothing(volume, weight, bias, *rest).to(kind)
        return out.squeeze(0) if single else out
    volume = volume.constant_pad_nd((0, 0, 0, 0, front, front)) if front else volume
    total: Any = None
    for k in range(weight.shape[2]):
        start = k * apart[0]
        part = volume[:, :, start : start + step[0] * (depth - 1) + 1 : step[0]]
        made = wgtorch.conv2d(
            as_planes(part), weight[:, :, k], bias if total is None else None, step[1:], pad,
            apart[1:], groups,
        )  # fmt: skip
        total = made if total is None else total + made
    total = total.to(kind)
    out = as_volume(total, volume.shape[0], depth)
    return out.squeeze(0) if single else out


def margins(padding: Any, weight: Tensor, step, apart) -> tuple[int, int, Any]:
    """In front, behind, and for planes: (H, W), or pairs where they differ."""
    if padding == "valid":
        return 0, 0, (0, 0)
    if padding == "same":
        if any(s != 1 for s in step):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        pairs = []
        for size, d in zip(weight.shape[2:], apart, strict=True):
            whole = d * (size - 1)
            pairs.append((whole // 2, whole - whole // 2))
        return pairs[0][0], pairs[0][1], (pairs[1], pairs[2])
    if isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    (pad,) = three("conv3d", padding=padding)
    return pad[0], pad[0], pad[1:]


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The gradient of `conv3d` by its input: each element spreads over a window."""
    volume, single = batched(input, "conv_transpose3d")
    step, pad, more, apart = three("conv_transpose3d", stride=stride, padding=padding,
                                   output_padding=output_padding, dilation=dilation)  # fmt: skip
    biases = None if bias is None else tuple(bias.shape)
    rest = (step, pad, apart, True, more, groups)
    result_shape(tuple(volume.shape), tuple(weight.shape), biases, *rest)
    if not volume.numel():
        none = of_nothing(volume, weight, bias, *rest)
        return none.squeeze(0) if single else none
    batch, depth = volume.shape[0], volume.shape[2]
    planes = as_planes(volume)
    length = step[0] * (depth - 1) + apart[0] * (weight.shape[2] - 1) + 1 + more[0]
    out: Any = None
    for k in range(weight.shape[2]):
        made = wgtorch.conv_transpose2d(
            planes, weight[:, :, k], None, step[1:], pad[1:], more[1:], groups, apart[1:]
        )
        part = as_volume(made, batch, depth)
        if out is None:
            n, c, _, h, w = part.shape
            out = part.new_zeros((n, c, length, h, w))
        start = k * apart[0]
        out[:, :, start : start + step[0] * (depth - 1) + 1 : step[0]] += part
    out = out[:, :, pad[0] : length - pad[0]]
    if bias is not None:
        out = out + bias.reshape(1, -1, 1, 1, 1)
    return out.squeeze(0) if single else out


# Pools


def depthwise(volume: Tensor) -> Tensor:
    """(N, C, D, H, W) as (N, C H W, D): rows along the depth."""
    n, c, d, h, w = volume.shape
    return volume.permute(0, 1, 3, 4, 2).reshape(n, c * h * w, d)


def deep(rows: Tensor, like: Tensor) -> Tensor:
    n, c, _, h, w = like.shape
    return rows.reshape(n, c, h, w, rows.shape[-1]).permute(0, 1, 4, 2, 3)


def pooled_volume(name: str, input: Tensor) -> tuple[Tensor, bool]:
    """(N, C, D, H, W) or without batch; only the batch may be empty."""
    if input.ndim not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    if 0 in input.shape[input.ndim - 4 :]:
        raise RuntimeError(
            f"{name}(): Expected input's non-batch dimensions to have positive length, but input"
            f" has a shape of {list(input.shape)} and non-batch dimension 0 has length zero!"
        )
    return batched(input, name)


def check_room(volume: Tensor, size, step, pad, apart, ceil_mode: bool) -> None:
    """That there is a window in each direction."""
    counts = [Window((1, k), (1, s), (0, p), (1, a), ceil_mode).count(n, 1) for n, k, s, p, a in
              zip(volume.shape[2:], size, step, pad, apart, strict=True)]  # fmt: skip
    if min(counts) < 1:
        channels, *have = volume.shape[1:]
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, (channels, *have)))}). Calculated output size:"
            f" ({'x'.join(map(str, (channels, *counts)))}). Output size is too small"
        )


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest of each window; with `return_indices` also where it is in D H W."""
    stride = kernel_size if stride in (None, ()) else stride
    size, step, pad, apart = three("max_pool3d", kernel_size=kernel_size, stride=stride,
                                   padding=padding, dilation=dilation)  # fmt: skip
    check("max_pool3d", size, step, pad, apart)
    check_kind(input, "max_pool3d", 1)
    volume, single = pooled_volume("max_pool3d", input)
    check_room(volume, size, step, pad, apart, ceil_mode)
    plane = (size[1:], step[1:], pad[1:], apart[1:], ceil_mode)
    row = (size[0], step[0], pad[0], apart[0], ceil_mode)
    batch, depth = volume.shape[0], volume.shape[2]
    if not return_indices:
        flat = as_volume(wgtorch.max_pool2d(as_planes(volume), *plane), batch, depth)
        out = deep(wgtorch.max_pool1d(depthwise(flat), *row), flat)
        return out.squeeze(0) if single else out
    values, where = wgtorch.max_pool2d_with_indices(as_planes(volume), *plane)
    flat, where = as_volume(values, batch, depth), as_volume(where, batch, depth)
    rows, level = wgtorch.max_pool1d_with_indices(depthwise(flat), *row)
    inner = depthwise(where).gather(-1, level)
    area = volume.shape[3] * volume.shape[4]
    out, places = deep(rows, flat), deep(level * area + inner, flat)
    return (out.squeeze(0), places.squeeze(0)) if single else (out, places)


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window. Counts are products, so means of means are the mean."""
    if out is not None:
        facts = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return into(out, avg_pool3d(input, *facts), "avg_pool3d")
    stride = kernel_size if stride in (None, ()) else stride
    size, step, pad = three("avg_pool3d", kernel_size=kernel_size, stride=stride, padding=padding)
    if divisor_override is not None:
        divisor_override = integer("avg_pool3d", "divisor_override", divisor_override, 7)
    check("avg_pool3d", size, step, pad, (1, 1, 1))
    volume, single = pooled_volume("avg_pool3d", input)
    if any([n < k for n, k in zip(volume.shape[2:], size, strict=True)]):
        t, h, w = volume.shape[2:]
        raise RuntimeError(
            f"input image (T: {t} H: {h} W: {w}) smaller than kernel size (kT: {size[0]} kH:"
            f" {size[1]} kW: {size[2]})"
        )
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if volume.dtype is wgtorch.int64:
        axes = [*zip(size, step, pad, strict=True)]
        means = whole_means(volume, axes, ceil_mode, count_include_pad, divisor_override or 0)
        return means.squeeze(0) if single else means
    sums = None if divisor_override is None else 1
    flat = as_volume(
        wgtorch.avg_pool2d(
            as_planes(volume), size[1:], step[1:], pad[1:], ceil_mode, count_include_pad, sums
        ),
        volume.shape[0],
        volume.shape[2],
    )
    rows = depthwise(flat).unsqueeze(-1)
    rows = wgtorch.avg_pool2d(
        rows, (size[0], 1), (step[0], 1), (pad[0], 0), ceil_mode, count_include_pad, sums
    ).squeeze(-1)
    out = deep(rows, flat)
    out = out if divisor_override is None else out / divisor_override
    return out.squeeze(0) if single else out


def even_volume(name: str, input: Tensor, output_size: Any) -> tuple[Tensor, bool, tuple[int, ...]]:
    """What an adaptive pool is given, in five dimensions."""
    if input.ndim < 4:
        raise ValueError("Input dimension should be at least 4")
    volume, single = batched(input, name)
    size = asked_size(name, output_size, tuple(volume.shape), 3)
    return volume, single, size


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows that divide the volume into `output_size` parts."""
    volume, single, size = even_volume("adaptive_avg_pool3d", input, output_size)
    flat = as_volume(wgtorch.adaptive_avg_pool2d(as_planes(volume), size[1:]), *volume.shape[:3:2])
    out = deep(wgtorch.adaptive_avg_pool1d(depthwise(flat), size[0]), flat)
    return out.squeeze(0) if single else out


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest of windows that divide the volume into `output_size` parts."""
    volume, single, size = even_volume("adaptive_max_pool3d", input, output_size)
    check_filled("adaptive_max_pool3d", tuple(input.shape))
    check_kind(input, "adaptive_max_pool3d_cpu")
    values, where = evenly_largest(as_planes(volume), size[1:])
    flat, where = (as_volume(x, *volume.shape[:3:2]) for x in (values, where))
    rows, depth = evenly_largest(depthwise(flat).unsqueeze(-2), (1, size[0]))
    rows, depth = rows.squeeze(-2), depth.squeeze(-2)
    inner = depthwise(where).gather(-1, depth)
    out, places = deep(rows, flat), deep(depth * (volume.shape[3] * volume.shape[4]) + inner, flat)
    if single:
        out, places = out.squeeze(0), places.squeeze(0)
    return (out, places) if return_indices else out


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """(what `adaptive_max_pool3d` gives, where in D H W it is)"""
    return adaptive_max_pool3d(input, output_size, True)


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(what `max_pool3d` gives, where in D H W it is)"""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


# And back


def max_unpool(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any,
               output_size: Any, dims: int) -> Tensor:  # fmt: skip
    """Each element where the largest of its window was, zeros elsewhere."""
    if indices.shape != input.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor"
            f" ({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    op = f"max_unpool{dims}d"
    size = sizes(op, "kernel_size", kernel_size, 3, dims)
    step = size if stride is None else sizes(op, "stride", stride, 4, dims)
    pad = sizes(op, "padding", padding, 5, dims)
    usual = [
        (n - 1) * s - 2 * p + k
        for n, s, p, k in zip(input.shape[-dims:], step, pad, size, strict=True)
    ]
    spatial = usual
    if output_size is not None:
        asked = integers(op, "output_size", tuple(output_size), 6)
        spatial = list(asked)[-dims:]  # type: ignore[arg-type]
        for n, most, s in zip(spatial, usual, step, strict=True):
            if not most - s < n < most + s:
                raise ValueError(
                    f"invalid output_size {tuple(spatial)} (expected each to be within stride of"
                    f" {tuple(usual)})"
                )
    lead = tuple(input.shape[:-dims])
    count = 1
    for n in spatial:
        count *= n
    zeros = input.new_zeros((*lead, count))
    flat = input.reshape(*lead, -1)
    return zeros.scatter(-1, indices.reshape(*lead, -1), flat).reshape(*lead, *spatial)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The opposite of `max_pool1d` as far as there is one."""
    return max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The opposite of `max_pool2d` as far as there is one."""
    return max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The opposite of `max_pool3d` as far as there is one."""
    return max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)
