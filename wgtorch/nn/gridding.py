"""Images sampled along grids of coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import wgtorch
from wgtorch import Tensor
from wgtorch.config import outside
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
            stacklevel=outside(),
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
    rows = input.flatten(2)
    if input.dtype.itemsize == 2:  # places far from 0 need more than a half has
        rows, grid = rows.float(), grid.float()
    spatial = tuple(input.shape[2:])
    at = []
    for axis, size in enumerate(reversed(spatial)):
        x = grid[..., axis].flatten(1)
        at.append((x + 1) / 2 * (size - 1) if corners else ((x + 1) * size - 1) / 2)
    at = at[::-1]  # as the dimensions stand
    if mode == "bicubic":
        near, shares = neighbours_cubic(at)
        near = [inside(x, n, padding_mode, corners) for x, n in zip(near, spatial, strict=True)]
    else:
        at = [inside(x, n, padding_mode, corners) for x, n in zip(at, spatial, strict=True)]
        near, shares = nearest(at) if mode == "nearest" else neighbours(at)
    places, weights = places_of(near, spatial), product(shares)
    weights = weights.expand(places.shape).flatten(1, -2)
    out = rows._blend(places.flatten(1, -2), weights)
    return out.reshape(*input.shape[:2], *grid.shape[1:-1]).to(input.dtype)


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
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with"
            f" sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but"
            f" got grid with sizes {list(grid.shape)}"
        )
    for dim, size in enumerate(input.shape[2:], 2):
        if not size:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input"
                f" has sizes {list(input.shape)} with dimension {dim} being empty"
            )
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype.category != 2:
        kernel = "grid_sampler_2d_cpu_kernel_impl" if input.ndim == 4 else "grid_sampler3d_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.short}'")
    if grid.dtype is not input.dtype and not wgtorch.is_autocast_enabled(input.device.type):
        raise RuntimeError(f"expected scalar type {input.dtype.short} but found {grid.dtype.short}")


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
    return x.hardtanh(0, size - 1)  # as `clamp`, but flat at the ends too


# Which neighbours, and how much of each: for each axis in a dimension of its own, (N, ..., points)


def crossed(x: Tensor, axis: int, axes: int) -> Tensor:
    """(N, neighbours, points), with the neighbours in dimension `axis` of `axes`."""
    around = [1] * axes
    around[axis] = x.shape[1]
    return x.reshape(x.shape[0], *around, x.shape[2])


def nearest(at: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    found = [crossed(x.round().unsqueeze(1), axis, len(at)) for axis, x in enumerate(at)]
    return found, [x._level(1.0) for x in found[:1]]


def neighbours(at: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The two of each axis, linearly."""
    up = wgtorch.arange(2, dtype=at[0].dtype, device=at[0].device).reshape(1, 2, 1)
    near, shares = [], []
    for axis, x in enumerate(at):
        low = x.detach().floor().unsqueeze(1)
        share = (1 - up) + (x.unsqueeze(1) - low) * (2 * up - 1)
        near.append(crossed(low + up, axis, len(at)))
        shares.append(crossed(share, axis, len(at)))
    return near, shares


def neighbours_cubic(at: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The four of each axis."""
    step = wgtorch.arange(-1, 3, dtype=at[0].dtype, device=at[0].device).reshape(1, 4, 1)
    near, shares = [], []
    for axis, x in enumerate(at):
        low = x.detach().floor()
        each: Any = cubic_weights(x - low)  # type: ignore[arg-type]
        near.append(crossed(low.unsqueeze(1) + step, axis, len(at)))
        shares.append(crossed(wgtorch.stack(each, 1), axis, len(at)))
    return near, shares


def product(shares: list[Tensor]) -> Tensor:
    whole = shares[0]
    for share in shares[1:]:
        whole = whole * share
    return whole


def places_of(near: list[Tensor], spatial: tuple[int, ...]) -> Tensor:
    """Where whole coordinates are, counted row by row; -1 outside, and for NaN."""
    whole = wgtorch.int32 if prod(spatial) < 1 << 31 else wgtorch.int64
    flat: Any = None
    kept: Any = None
    for x, size in zip(near, spatial, strict=True):
        good = (x >= 0) & (x <= size - 1)
        index = x.nan_to_num(-1).clamp(0, size - 1).to(whole)
        flat = index if flat is None else flat * size + index
        kept = good if kept is None else kept & good
    return flat.masked_fill(~kept, -1)
