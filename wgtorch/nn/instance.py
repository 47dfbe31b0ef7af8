"""Norms per sample: of each channel, by the root of the mean square, of neighbouring channels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from wgtorch import Tensor, empty
from wgtorch.nn import functional as F
from wgtorch.nn import init
from wgtorch.nn.module import Module
from wgtorch.nn.normalization import BatchNorm, Norm
from wgtorch.nn.parameter import Parameter


class BatchNorm3d(BatchNorm):
    """For (batch, channels, depth, height, width)."""

    ranks = (5,)


class InstanceNorm(Norm):
    """Per sample and channel, over all that follows."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ):  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _channel_dim(self, input: Tensor) -> int:
        return input.dim() - self.ranks[0]

    def _check_channels(self, input: Tensor) -> None:
        dim = self._channel_dim(input)
        found = input.shape[dim]
        if found != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features "
                f"({self.num_features}), but got: {found}."
            )
        if found != self.num_features:
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=3,
            )

    def forward(self, input: Tensor) -> Tensor:
        self._check_rank(input)
        self._check_channels(input)
        single = input.dim() == self.ranks[0]
        images = input.unsqueeze(0) if single else input
        out = F.instance_norm(
            images, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum or 0.0, self.eps,
        )  # fmt: skip
        return out.squeeze(0) if single else out


def batch_norms(model: Module) -> list[BatchNorm]:
    """The batch norms of a module, which instance norms are not."""
    found = [module for module in model.modules() if isinstance(module, BatchNorm)]
    return [norm for norm in found if not isinstance(norm, InstanceNorm)]


class InstanceNorm1d(InstanceNorm):
    """For (batch, channels, length) or (channels, length)."""

    ranks = (2, 3)


class InstanceNorm2d(InstanceNorm):
    """For (batch, channels, height, width) or (channels, height, width)."""

    ranks = (3, 4)


class InstanceNorm3d(InstanceNorm):
    """For (batch, channels, depth, height, width), or without a batch."""

    ranks = (4, 5)


class RMSNorm(Module):
    """Divided by the root of the mean square over the last dimensions."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None,
        elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        shape: Any = normalized_shape
        self.normalized_shape = (int(shape),) if isinstance(shape, Integral) else tuple(shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LocalResponseNorm(Module):
    """input / (k + alpha * the mean of squares over `size` neighbouring channels)^beta."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
