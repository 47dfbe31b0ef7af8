"""Normalization: modules that shift and scale their input to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from wgtorch import Tensor, empty, int64, tensor, zeros
from wgtorch.nn import functional as F
from wgtorch.nn import init
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter


class Norm(Module):
    """Per channel, by statistics of the input or by running ones.

    Training uses the input's own mean and variance and, if `track_running_stats`, moves the
    running ones towards them by `momentum` (None: their plain average); evaluation uses those.
    """

    _version = 2  # 1 had no num_batches_tracked
    ranks: tuple[int, ...]  # of input that fits

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        made = {"device": device, "dtype": dtype}
        for name, has in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(empty(num_features, **made)) if has else None)
        tracks = track_running_stats
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, zeros(num_features, **made) if tracks else None)
        count = tensor(0, dtype=int64, device=device) if tracks else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _channel_dim(self, input: Tensor) -> int:
        return 1

    def _check_rank(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            wanted = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_rank(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        from_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            from_batch,
            momentum,
            self.eps,
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict, *rest: Any
    ) -> None:
        key = prefix + "num_batches_tracked"
        older = (local_metadata.get("version") or 1) < 2
        if older and self.track_running_stats and key not in state_dict:
            counted = self.num_batches_tracked
            state_dict[key] = tensor(0, dtype=int64) if counted is None else counted
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm(Norm):
    """Per channel (dimension 1), over the batch and all other dimensions."""


class BatchNorm1d(BatchNorm):
    """For (batch, channels) or (batch, channels, length)."""

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """For (batch, channels, height, width)."""

    ranks = (4,)


class LayerNorm(Module):
    """Over the last dimensions, which are `normalized_shape`, of each sample."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        shape: Any = normalized_shape
        self.normalized_shape = (int(shape),) if isinstance(shape, Integral) else tuple(shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made = {"device": device, "dtype": dtype}
        for name, wanted in (("weight", True), ("bias", bias)):
            has = elementwise_affine and wanted
            param = Parameter(empty(self.normalized_shape, **made)) if has else None
            self.register_parameter(name, param)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Over each of `num_groups` groups of channels (dimension 1) of each sample."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        made = {"device": device, "dtype": dtype}
        for name, wanted in (("weight", True), ("bias", bias)):
            has = affine and wanted
            self.register_parameter(name, Parameter(empty(num_channels, **made)) if has else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
