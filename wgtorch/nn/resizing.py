"""Resizing images: each dimension on its own, each element a few weighted ones of the input."""

from __future__ import annotations

import math
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.integers import integers
from wgtorch.nn.volumes import adaptive_avg_pool3d
from wgtorch.ops.resampling import SMOOTH, Way, nearest, whole_bands

LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
MODES = (
    "nearest", "linear", "bilinear", "bicubic", "trilinear", "lanczos", "area", "nearest-exact",
)  # fmt: skip


def asked_size(input: Tensor, size: Any, scale: Any) -> tuple[list[int], list[float | None]]:
    dims = input.ndim - 2
    if size is not None and scale is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        found = integers("interpolate", "size", size, 2)
        sizes = [found] * dims if isinstance(found, int) else list(found)
        if len(sizes) != dims:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input"
                f" with spatial dimensions of {list(input.shape[2:])} and output size of {size}."
            )
        return sizes, [None] * dims
    if scale is None:
        raise ValueError("either size or scale_factor should be defined")
    factors = [float(scale)] * dims if isinstance(scale, int | float) else [float(s) for s in scale]
    if len(factors) != dims:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input"
            f" with spatial dimensions of {list(input.shape[2:])} and scale_factor of shape"
            f" {scale}."
        )
    pairs = zip(input.shape[2:], factors, strict=True)
    return [math.floor(n * f) for n, f in pairs], list(factors)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resizes the spatial dimensions of (N, C, ...): to `size`, or by `scale_factor`.

    Modes: "nearest", "nearest-exact", "area"; "linear" (3-D input), "bilinear" and "bicubic" (4-D),
    "trilinear" (5-D); "lanczos" (4-D, with `antialias`). Of floats; of uint8 where the mode is one
    of nearest elements or of 4-D input: else NotImplementedError.
    """
    check_mode(input, mode, align_corners, antialias)
    sizes, factors = asked_size(input, size, scale_factor)
    if any(n < 1 for n in (*sizes, *input.shape[2:])):
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input"
            f" ({', '.join(map(str, input.shape[2:]))}) and output"
            f" ({', '.join(map(str, sizes))})"
        )
    if mode == "area":
        pools = (wgtorch.adaptive_avg_pool1d, wgtorch.adaptive_avg_pool2d, adaptive_avg_pool3d)
        return pools[input.ndim - 3](input, sizes)
    check_dtype(input, mode, antialias)
    if recompute_scale_factor:
        factors = [None] * len(factors)
    facts = [*enumerate(zip(sizes, factors, strict=True), 2)]
    for d, (out, factor) in facts if input.is_floating_point() else reversed(facts):
        input = resized(input, d, out, Way(mode, factor, bool(align_corners), antialias))
    return input


def check_mode(input: Tensor, mode: str, corners: bool | None, smooth: bool) -> None:
    if mode in ("nearest", "area", "nearest-exact") and corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear |"
            " bilinear | bicubic | trilinear"
        )
    if input.ndim not in (3, 4, 5) or mode not in MODES:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the"
            f" modes: {' | '.join(MODES)} (got {mode})"
        )
    if mode == "lanczos" and (corners or not smooth):
        raise ValueError(
            "Lanczos mode does not support align_corners=True"
            if corners
            else "Lanczos mode requires antialias=True"
        )
    if smooth and (mode not in SMOOTH or input.ndim != 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a"
            " 4-D tensor as input"
        )
    need = LINEAR.get(mode) or (2 if mode in SMOOTH else None)
    if need is not None and input.ndim != need + 2:
        raise NotImplementedError(
            f"Got {input.ndim}D input, but {mode} mode needs {need + 2}D input"
        )


def check_dtype(input: Tensor, mode: str, smooth: bool) -> None:
    near = mode.startswith("nearest")
    if input.is_floating_point() or (input.dtype is wgtorch.uint8 and (near or input.ndim == 4)):
        return
    if smooth:
        kernel = "compute_index_ranges_weights"
    elif input.ndim == 4 and mode != "bicubic":
        kernel = f"upsample_{'nearest' if near else mode}2d_channels_last"
    else:
        way = "nearest" if near else "cubic" if mode == "bicubic" else "linear"
        kernel = f"compute_indices_weights_{way}"
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.short}'")


def resized(input: Tensor, dim: int, out: int, way: Way) -> Tensor:
    """One dimension."""
    whole = not input.is_floating_point()
    if whole and way.mode.startswith("nearest"):
        places = nearest(input.shape[dim], out, way)
        return input.index_select(dim, wgtorch.tensor(places, device=input.device))
    if out == input.shape[dim] and (way.mode in LINEAR or way.smooth or whole):
        return input  # whatever the factor
    if not whole:
        return input._resample(dim, out, way)
    bits = whole_bands(input.shape[dim], out, way)[1]
    total = input.int()._resample(dim, out, way) + (1 << bits >> 1)
    return (total >> bits).clamp(0, 255).to(input.dtype)


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """As `interpolate`, which is its newer name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """As `interpolate` with mode "nearest", which is its newer name."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """As `interpolate` with mode "bilinear" and `align_corners`, which is its newer name."""
    return interpolate(input, size, scale_factor, "bilinear", True)
