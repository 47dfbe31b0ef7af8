"""PyTorch's inner names of norms, dropout and grids, which return what their gradients need too."""

from __future__ import annotations

from math import prod
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.dispatch.write import into
from wgtorch.nn import functional as F

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(`layer_norm`, the rows' means, 1 / their standard deviations, both without gradients)."""
    rank = len(tuple(normalized_shape))
    mean, rstd = moments(input.detach(), tuple(range(-rank, 0)), eps)
    return F.layer_norm(input, normalized_shape, weight, bias, eps), mean, rstd


def moments(input: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    mean = input.mean(dims, keepdim=True)
    return mean, (input.var(dims, correction=0, keepdim=True) + eps).rsqrt()


def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """(`group_norm`, means and 1 / standard deviations, both (N, group)); input (N, C, ...)."""
    if prod(input.shape) != N * C * HxW:
        raise RuntimeError(f"Expected input of {N} * {C} * {HxW} elements, got {list(input.shape)}")
    mean, rstd = moments(input.reshape(N, group, C // group * HxW), (-1,), eps)
    return F.group_norm(input, group, weight, bias, eps), mean.squeeze(-1), rstd.squeeze(-1)


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(`batch_norm`, the batch's means, 1 / its deviations); both are empty but in training."""
    normalized = wgtorch.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )
    mean, rstd = input.new_empty(0), input.new_empty(0)
    if training:
        dims = tuple(d for d in range(input.ndim) if d != 1)
        mean, rstd = [m.flatten() for m in moments(input.detach(), dims, eps)]
    found = normalized, mean, rstd
    if out is None:
        return found
    a, b, c = [into(o, f, "native_batch_norm") for o, f in zip(out, found, strict=True)]
    return a, b, c


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """(`dropout`, where elements were kept); without `train` all are."""
    if train is False:
        return input.clone(), wgtorch.ones_like(input, dtype=wgtorch.bool)
    kept = wgtorch.rand(input.shape, device=input.device) >= p
    return input * kept * (0.0 if p == 1 else 1 / (1 - p)), kept


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """As `nn.functional.channel_shuffle`."""
    return F.channel_shuffle(input, groups)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample`, its modes by number: bilinear, nearest, bicubic; zeros, border,
    reflection."""
    mode, padding = MODES[interpolation_mode], PADDINGS[padding_mode]
    return F.grid_sample(input, grid, mode, padding, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """As `nn.functional.affine_grid`."""
    return F.affine_grid(theta, size, align_corners)
