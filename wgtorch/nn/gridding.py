"""Images sampled along grids of coordinates."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import wgtorch
from wgtorch import Tensor
from wgtorch.ops.resampling import cubic_weights


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Where an affine map (N, d, d + 1) takes each element of an output (N, C, ...): coordinates
    in [-1, 1], x first."""
    corners = said_corners(align_corners, "affine_grid")
    spatial = list(size[2:])
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (len(spatial), len(spatial) + 1):
        raise ValueError(
            f"Expected a batch of {len(spatial)}x{len(spatial) + 1} affine matrices for size"
            f" {tuple(size)}. Got {tuple(theta.shape)}."
        )
    axes = []
    for n in spatial:
        ends = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        axes.append(ends if corners else ends * (n - 1) / n)
    mesh = np.meshgrid(*axes, indexing="ij")
    points = np.stack([*mesh[::-1], np.ones(spatial)], -1).reshape(1, -1, len(spatial) + 1)
    base = wgtorch.tensor(points, dtype=theta.dtype, device=theta.device)
    flat = base.expand(theta.shape[0], -1, -1).bmm(theta.transpose(1, 2))
    return flat.reshape(theta.shape[0], *spatial, len(spatial))


def said_corners(align_corners: bool | None, name: str) -> bool:
    if align_corners is None:
        warnings.warn(
            f"Default {name} behavior has changed to align_corners=False since 1.3.0. Please"
            " specify align_corners=True if the old behavior is desired. See the documentation of"
            f" {name} for details.",
            stacklevel=3,
        )
    return bool(align_corners)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """input (N, C, H, W), or (N, C, D, H, W), at the coordinates of grid (N, ..., 2 or 3).

    -1 and 1 are the ends of a dimension (the middle of its corner elements with `align_corners`);
    modes "bilinear", "nearest", "bicubic"; outside: "zeros", "border", "reflection".
    """
    check_grid(input, grid, mode, padding_mode)
    corners = said_corners(align_corners, "grid_sample")
    spatial = list(input.shape[2:])
    at = []
    for axis, size in enumerate(reversed(spatial)):
        x = grid[..., axis]
        at.append((x + 1) / 2 * (size - 1) if corners else ((x + 1) * size - 1) / 2)
    at = at[::-1]  # as the dimensions stand
    if mode == "bicubic":
        return sampled_cubic(input, at, padding_mode, corners)
    at = [inside(x, n, padding_mode, corners) for x, n in zip(at, spatial, strict=True)]
    if mode == "nearest":
        return picked(input, [x.round() for x in at], padding_mode)
    low = [x.detach().floor() for x in at]
    total: Any = None
    for corner in itertools.product((0, 1), repeat=len(spatial)):
        weight = None
        for x, base, up in zip(at, low, corner, strict=True):
            share = x - base if up else 1 - (x - base)
            weight = share if weight is None else weight * share
        part = picked(input, [b + up for b, up in zip(low, corner, strict=True)], padding_mode)
        part = part * weight.unsqueeze(1)
        total = part if total is None else total + part
    return total


def check_grid(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic',"
            f" but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or"
            f" 'reflection', but got: '{padding_mode}'"
        )
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but"
            f" got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            "grid_sampler(): expected grid to have the batch size of input and size"
            f" {input.ndim - 2} in last dimension, but got input with sizes {list(input.shape)} and"
            f" grid with sizes {list(grid.shape)}"
        )
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def inside(x: Tensor, size: int, padding_mode: str, corners: bool) -> Tensor:
    """Coordinates outside brought in, unless zeros lie there; NaN is 0, as in PyTorch."""
    if padding_mode == "zeros":
        return x
    x = x.masked_fill(x.isnan(), 0)
    if padding_mode == "reflection":
        low, span = (0.0, float(size - 1)) if corners else (-0.5, float(size))
        if span == 0:
            return x * 0
        away = (x - low).abs()
        turns = (away / span).detach().floor()
        rest = away - turns * span
        x = wgtorch.where(turns % 2 == 0, rest + low, span - rest + low)
    return x.clamp(0, size - 1)


def picked(input: Tensor, places: list[Tensor], padding_mode: str) -> Tensor:
    """Elements at whole coordinates (N, ...), 0 outside: (N, C, ...)."""
    spatial = list(input.shape[2:])
    flat, kept = None, None
    for x, size in zip(places, spatial, strict=True):
        good = (x >= 0) & (x <= size - 1)
        index = x.nan_to_num(-1).clamp(0, size - 1).to(wgtorch.int64)
        flat = index if flat is None else flat * size + index
        kept = good if kept is None else kept & good
    batch, channels = input.shape[:2]
    index = flat.reshape(batch, 1, -1).expand(-1, channels, -1)
    out = input.reshape(batch, channels, -1).gather(2, index)
    out = out.reshape(batch, channels, *flat.shape[1:])
    return out.masked_fill(~kept.unsqueeze(1), 0)


def sampled_cubic(input: Tensor, at: list[Tensor], padding_mode: str, corners: bool) -> Tensor:
    low = [x.detach().floor() for x in at]
    weights = [cubic_weights(x - b) for x, b in zip(at, low, strict=True)]  # type: ignore[arg-type]
    total: Any = None
    for i, j in itertools.product(range(4), repeat=2):
        places = [
            inside(b + k - 1, n, padding_mode, corners)
            for b, k, n in zip(low, (i, j), input.shape[2:], strict=True)
        ]
        weight: Any = weights[0][i] * weights[1][j]
        part = picked(input, places, padding_mode) * weight.unsqueeze(1)
        total = part if total is None else total + part
    return total
