"""Lazy modules learn the sizes of their parameters from the first input, and then are plain ones.

Their class becomes that of the module that they stand for. Until then their state can be saved
and loaded as that of any module; loading known tensors makes the parameters known.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from wgtorch import Tensor, int64, no_grad, tensor
from wgtorch.nn.convolution import Conv1d, Conv2d, Convolution, Sizes
from wgtorch.nn.instance import BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from wgtorch.nn.linear import Linear
from wgtorch.nn.normalization import BatchNorm1d, BatchNorm2d, Norm
from wgtorch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from wgtorch.nn.transposed import (
    Conv3d,
    ConvTranspose,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)


class LazyModuleMixin:
    """Base class beside a module's: `initialize_parameters(*args)` materializes from an input."""

    cls_to_become: type | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize and fill the parameters for this input, or check it if state was loaded."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer of the module itself has no shape yet."""
        return any([is_lazy(t) for t in chain(self._parameters.values(), self._buffers.values())])

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self._is_sized():
            super().reset_parameters()  # type: ignore[misc]

    def _is_sized(self) -> bool:
        """Whether the size that comes from the input is known."""
        return True

    def _lazy_load_hook(self: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for name, held in chain(self._parameters.items(), self._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(held) and isinstance(given, Tensor) and not is_lazy(given):
                with no_grad():
                    held.materialize(given.shape)

    def _infer_parameters(self, module: Any, args: tuple, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


def forget(module: Any, bias: bool, device: Any, dtype: Any) -> None:
    module.weight = UninitializedParameter(device=device, dtype=dtype)
    if bias:
        module.bias = UninitializedParameter(device=device, dtype=dtype)


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose `in_features` are those of its first input."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__(0, 0, False)
        self.out_features = out_features
        forget(self, bias, device, dtype)

    def _is_sized(self) -> bool:
        return self.in_features != 0

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        found = input.shape[-1]
        if not is_lazy(self.weight) and found != self.weight.shape[-1]:
            raise AssertionError(
                f"The in_features inferred from input: {found} is not equal to in_features "
                f"from self.weight: {self.weight.shape[-1]}"
            )
        self.in_features = found
        if self.has_uninitialized_params():
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()


# Convolutions


class LazyConvolution(LazyModuleMixin, Convolution):
    """A convolution whose `in_channels` are those of its first input."""

    def __init__(
        self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
        padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self.out_channels = out_channels
        forget(self, bias, device, dtype)

    def _is_sized(self) -> bool:
        return self.in_channels != 0

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        self.in_channels = self._channels_of(input)
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        if self.has_uninitialized_params():
            self.weight.materialize(self._weight_shape())
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _channels_of(self, input: Tensor) -> int:
        single, batched = self.dims + 1, self.dims + 2
        if input.dim() not in (single, batched):
            raise RuntimeError(
                f"Expected {single}D (unbatched) or {batched}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[1] if input.dim() == batched else input.shape[0]


class LazyConv1d(LazyConvolution, Conv1d):
    """A Conv1d whose `in_channels` are those of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(LazyConvolution, Conv2d):
    """A Conv2d whose `in_channels` are those of its first input."""

    cls_to_become = Conv2d


class LazyConv3d(LazyConvolution, Conv3d):
    """A Conv3d whose `in_channels` are those of its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose(LazyConvolution, ConvTranspose):
    """A transposed convolution whose `in_channels` are those of its first input."""

    def __init__(
        self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
        output_padding: Sizes = 0, groups: int = 1, bias: bool = True, dilation: Sizes = 1,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        LazyModuleMixin.__init__(
            self, 0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
            padding_mode, device, dtype,
        )  # fmt: skip
        self.out_channels = out_channels
        forget(self, bias, device, dtype)


class LazyConvTranspose1d(LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d whose `in_channels` are those of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d whose `in_channels` are those of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d whose `in_channels` are those of its first input."""

    cls_to_become = ConvTranspose3d


# Norms


class LazyNorm(LazyModuleMixin, Norm):
    """A norm whose `num_features` are the channels of its first input."""

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ):  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            forget(self, bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def _is_sized(self) -> bool:
        return self.num_features != 0

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        self.num_features = input.shape[self._channel_dim(input)]
        if self.has_uninitialized_params():
            for held in chain(self._parameters.values(), self._buffers.values()):
                if is_lazy(held):
                    held.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(LazyNorm, BatchNorm1d):
    """A BatchNorm1d whose `num_features` are those of its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(LazyNorm, BatchNorm2d):
    """A BatchNorm2d whose `num_features` are those of its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(LazyNorm, BatchNorm3d):
    """A BatchNorm3d whose `num_features` are those of its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(LazyNorm, InstanceNorm1d):
    """An InstanceNorm1d whose `num_features` are those of its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(LazyNorm, InstanceNorm2d):
    """An InstanceNorm2d whose `num_features` are those of its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(LazyNorm, InstanceNorm3d):
    """An InstanceNorm3d whose `num_features` are those of its first input."""

    cls_to_become = InstanceNorm3d
