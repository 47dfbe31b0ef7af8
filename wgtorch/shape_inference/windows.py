"""The shapes of what windows go over: convolutions and pools."""

from __future__ import annotations

from typing import Any

from wgtorch import conv1d, conv2d, conv_transpose2d
from wgtorch.nn import functional as F
from wgtorch.shape_inference.rule import Shape, rule
from wgtorch.size import Size


def windows(
    shape: Shape, kernel: Any, stride: Any, padding: Any, dilation: Any, dims: int
) -> tuple:
    """How many windows fit along each of the last dims."""
    given = [(v,) * dims if isinstance(v, int) else tuple(v)
             for v in (kernel, stride, padding, dilation)]  # fmt: skip
    sizes = zip(shape[-dims:], *given, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes])


@rule
def conv1d_shape(shape: Shape, weight: Shape, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1) -> Any:  # fmt: skip
    return conv1d(shape, weight, None, stride, padding, dilation, groups)


@rule
def conv2d_shape(shape: Shape, weight: Shape, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1) -> Any:  # fmt: skip
    return conv2d(shape, weight, None, stride, padding, dilation, groups)


def conv3d_shape(shape: Shape, weight: Shape, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Size:  # fmt: skip
    batch = shape[:-4]
    if len(weight) != 5 or len(batch) > 1 or len(shape) < 4 or shape[-4] != weight[1] * groups:
        raise RuntimeError(
            f"conv3d: an input of shape {list(shape)} does not fit a weight of {list(weight)}"
            f" in {groups} groups"
        )
    sizes = windows(shape, weight[2:], stride, padding, dilation, 3)
    return Size((*batch, weight[0], *sizes))


@rule
def conv_transpose2d_shape(shape: Shape, weight: Shape, stride: Any = 1, padding: Any = 0,
                           output_padding: Any = 0, groups: int = 1,
                           dilation: Any = 1) -> Any:  # fmt: skip
    return conv_transpose2d(shape, weight, None, stride, padding, output_padding, groups, dilation)


@rule
def pool1d_shape(shape: Shape, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Any:
    return F.avg_pool1d(shape, kernel_size, stride, padding)


@rule
def pool2d_shape(shape: Shape, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Any:
    return F.avg_pool2d(shape, kernel_size, stride, padding)


def pool3d_shape(shape: Shape, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Size:
    if len(shape) not in (4, 5):
        raise RuntimeError(f"pool3d: expected 4 or 5 dimensions, but got {len(shape)}")
    stride = kernel_size if stride is None else stride
    return Size((*shape[:-3], *windows(shape, kernel_size, stride, padding, 1, 3)))


@rule
def adaptive_pool1d_shape(shape: Shape, output_size: Any) -> Any:
    return F.adaptive_avg_pool1d(shape, output_size)


@rule
def adaptive_pool2d_shape(shape: Shape, output_size: Any) -> Any:
    return F.adaptive_avg_pool2d(shape, output_size)
