"""Convolutions in three dimensions, and those that spread instead of gather."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.nn import functional as F
from wgtorch.nn.convolution import Convolution, Sizes, each


class Conv3d(Convolution):
    """Windows over (batch, channels, depth, height, width), or without a batch."""

    dims = 3


class ConvTranspose(Convolution):
    """The gradient of a convolution by its input: each element spreads over a window."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
        padding: Sizes = 0, output_padding: Sizes = 0, groups: int = 1, bias: bool = True,
        dilation: Sizes = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, padding_mode, device, dtype)  # fmt: skip
        self.output_padding = each(output_padding, self.dims)

    def _weight_shape(self) -> tuple[int, ...]:
        return self.in_channels, self.out_channels // self.groups, *self.kernel_size

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        more = self.output_padding if output_size is None else self._missing(input, output_size)
        spread: Any = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.dims - 1]
        return spread(
            input, self.weight, self.bias, self.stride, self.padding, more, self.groups,
            self.dilation,
        )  # fmt: skip

    def _missing(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """What `output_padding` makes the result of this size."""
        wanted = [int(n) for n in output_size][-self.dims :]
        found = []
        for d, size in enumerate(wanted):
            pad: Any = self.padding[d]
            least = (input.shape[d - self.dims] - 1) * self.stride[d] - 2 * pad
            least += self.dilation[d] * (self.kernel_size[d] - 1) + 1
            if not least <= size < least + max(self.stride[d], self.dilation[d]):
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes range from {least} to"
                    f" {least + self.stride[d] - 1} in dimension {d}"
                )
            found.append(size - least)
        return tuple(found)


class ConvTranspose1d(ConvTranspose):
    """For (batch, channels, length) or (channels, length)."""

    dims = 1


class ConvTranspose2d(ConvTranspose):
    """For (batch, channels, height, width) or (channels, height, width)."""

    dims = 2


class ConvTranspose3d(ConvTranspose):
    """For (batch, channels, depth, height, width), or without a batch."""

    dims = 3
