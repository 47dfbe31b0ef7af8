"""Pools in three dimensions, of norms, to a given size, and back."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.nn import functional as F
from wgtorch.nn.module import Module
from wgtorch.nn.pooling import MaxPool, Sizes


class MaxPool3d(MaxPool):
    """For (batch, channels, depth, height, width) or (channels, depth, height, width)."""

    def forward(self, input: Tensor) -> Any:
        return F.max_pool3d(input, **self.settings())


class AvgPool3d(Module):
    """The mean of each window of (batch, channels, depth, height, width)."""

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):  # fmt: skip
        super().__init__()
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool(Module):
    dims: int

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0):
        super().__init__()
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self.dims - 1]
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(MaxUnpool):
    """Each element where the largest of its window was, zeros elsewhere."""

    dims = 1


class MaxUnpool2d(MaxUnpool):
    """Each element where the largest of its window was, zeros elsewhere."""

    dims = 2


class MaxUnpool3d(MaxUnpool):
    """Each element where the largest of its window was, zeros elsewhere."""

    dims = 3


class LPPool(Module):
    dims: int

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
        ceil_mode: bool = False,
    ):  # fmt: skip
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pool: Any = (F.lp_pool1d, F.lp_pool2d, F.lp_pool3d)[self.dims - 1]
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride},"
            f" ceil_mode={self.ceil_mode}"
        )


class LPPool1d(LPPool):
    """The p-norm of each window."""

    dims = 1


class LPPool2d(LPPool):
    """The p-norm of each window."""

    dims = 2


class LPPool3d(LPPool):
    """The p-norm of each window."""

    dims = 3


class AdaptiveMaxPool(Module):
    dims: int

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        pools = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)
        return pools[self.dims - 1](input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """The largest of `output_size` windows."""

    dims = 1


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """The largest of `output_size` windows."""

    dims = 2


class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """The largest of `output_size` windows."""

    dims = 3


class AdaptiveAvgPool3d(Module):
    """The means of `output_size` windows."""

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class FractionalMaxPool(Module):
    """The largest of windows at random places; `output_size`, or `output_ratio` of the input's
    size, says how many. See `nn.functional.fractional_max_pool2d`."""

    dims: int

    def __init__(
        self, kernel_size: Sizes, output_size: Sizes | None = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Tensor | None = None,
    ):  # fmt: skip
        super().__init__()
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        ratios = (output_ratio,) * self.dims if isinstance(output_ratio, float) else output_ratio
        if ratios is not None and not all(0 < ratio < 1 for ratio in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, ratios
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        pool = F.fractional_max_pool2d if self.dims == 2 else F.fractional_max_pool3d
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(FractionalMaxPool):
    dims = 2


class FractionalMaxPool3d(FractionalMaxPool):
    dims = 3
