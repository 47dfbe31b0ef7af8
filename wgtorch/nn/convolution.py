"""Convolutions, in one and two dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wgtorch import Tensor, empty
from wgtorch.nn import functional as F
from wgtorch.nn import init
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter

Sizes = int | Sequence[int]
MODES = ("zeros", "reflect", "replicate", "circular")


class Convolution(Module):
    """What convolutions of any number of dimensions share."""

    dims: int  # how many dimensions the window slides along

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = each(kernel_size, self.dims)
        self.stride, self.dilation = each(stride, self.dims), each(dilation, self.dims)
        self.padding = padding if isinstance(padding, str) else each(padding, self.dims)
        self.groups, self.padding_mode = groups, padding_mode
        self.output_padding = (0,) * self.dims  # of those that spread
        self._check()
        made = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty(self._weight_shape(), **made))
        self.register_parameter("bias", Parameter(empty(out_channels, **made)) if bias else None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        return self.out_channels, self.in_channels // self.groups, *self.kernel_size

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {self.padding!r}, should be one of 'same', 'valid'"
                )
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in MODES:
            raise ValueError(
                f"padding_mode must be one of {MODES}, but got padding_mode='{self.padding_mode}'"
            )

    def reset_parameters(self) -> None:
        # a = sqrt(5) gives weights uniform in +-1/sqrt(fan_in)
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = init.fans(self.weight)[0]
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def _margins(self) -> list[int]:
        """What `F.pad` adds: before and after, for each dimension from the last."""
        margins: list[int] = []
        padding: Any = self.padding
        for d in reversed(range(self.dims)):
            if padding == "valid":
                margins += [0, 0]
            elif padding == "same":
                total = self.dilation[d] * (self.kernel_size[d] - 1)
                margins += [total // 2, total - total // 2]
            else:
                margins += [padding[d]] * 2
        return margins

    def forward(self, input: Tensor) -> Tensor:
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self.dims - 1]
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._margins(), mode=self.padding_mode)
            padding = 0
        return convolve(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        shown = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * len(self.padding):
            shown += f", padding={self.padding}"
        if self.dilation != (1,) * self.dims:
            shown += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self.dims:
            shown += f", output_padding={self.output_padding}"
        if self.groups != 1:
            shown += f", groups={self.groups}"
        if self.bias is None:
            shown += ", bias=False"
        if self.padding_mode != "zeros":
            shown += f", padding_mode={self.padding_mode}"
        return shown


class Conv1d(Convolution):
    """Windows along (batch, channels, length), or (channels, length)."""

    dims = 1


class Conv2d(Convolution):
    """Windows over (batch, channels, height, width), or (channels, height, width)."""

    dims = 2


def each(sizes: Sizes, dims: int) -> tuple[int, ...]:
    """One number per dimension, from one number or a sequence."""
    return tuple(sizes) if isinstance(sizes, Sequence) else (sizes,) * dims
