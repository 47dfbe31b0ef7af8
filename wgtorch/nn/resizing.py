"""Resizing images: each dimension on its own, as weighted selections of the input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import wgtorch
from wgtorch import Tensor
from wgtorch.nn.volumes import adaptive_avg_pool3d

LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
SMOOTH = {"bilinear": 1, "bicubic": 2, "lanczos": 3}  # how far a filter reaches
MODES = (
    "nearest", "linear", "bilinear", "bicubic", "trilinear", "lanczos", "area", "nearest-exact",
)  # fmt: skip
CUBIC = -0.75  # the slope that PyTorch's bicubic has at the ends


def asked_size(input: Tensor, size: Any, scale: Any) -> tuple[list[int], list[float | None]]:
    dims = input.ndim - 2
    if size is not None and scale is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        sizes = [size] * dims if isinstance(size, int) else [int(n) for n in size]
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
    "trilinear" (5-D); "lanczos" (4-D, with `antialias`).
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
    if recompute_scale_factor:
        factors = [None] * len(factors)
    for d, (out, factor) in enumerate(zip(sizes, factors, strict=True), 2):
        input = resized(input, d, out, factor, mode, bool(align_corners), antialias)
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


def resized(
    input, dim: int, out: int, factor: float | None, mode: str, corners: bool, smooth: bool
):
    """One dimension, as a sum of shifted and weighted selections of the input."""
    size = input.shape[dim]
    if mode.startswith("nearest"):
        step = size / out if factor is None else 1 / factor
        shift = 0.5 if mode == "nearest-exact" else 0.0
        places = np.floor((np.arange(out, dtype=np.float32) + np.float32(shift)) * np.float32(step))
        return chosen(input, dim, np.clip(places, 0, size - 1))
    if smooth:
        return (
            input.movedim(dim, -1)
            .matmul(smoothing(input, size, out, factor, mode, corners))
            .movedim(-1, dim)
        )
    at = sources(size, out, factor, corners, mode == "bicubic")
    if mode == "bicubic":
        return cubic(input, dim, at)
    low = np.clip(np.floor(at), 0, size - 1)
    share = along(input, dim, np.clip(at - low, 0, 1))
    first = chosen(input, dim, low)
    return first + (chosen(input, dim, np.minimum(low + 1, size - 1)) - first) * share


def sources(size: int, out: int, factor: float | None, corners: bool, free: bool) -> np.ndarray:
    """Where in the input each output element lies."""
    index = np.arange(out, dtype=np.float64)
    if corners:
        return index * ((size - 1) / (out - 1) if out > 1 else 0)
    step = size / out if factor is None else 1 / factor
    at = (index + 0.5) * step - 0.5
    return at if free else np.maximum(at, 0)


def chosen(input: Tensor, dim: int, places: np.ndarray) -> Tensor:
    return input.index_select(dim, wgtorch.tensor(places.astype(np.int64), device=input.device))


def along(input: Tensor, dim: int, numbers: np.ndarray) -> Tensor:
    """Numbers for each place of a dimension, to multiply with."""
    shape = [1] * input.ndim
    shape[dim] = len(numbers)
    return wgtorch.tensor(
        numbers.astype(np.float64), dtype=input.dtype, device=input.device
    ).reshape(shape)


def cubic_weights(share: np.ndarray) -> list[np.ndarray]:
    """Of the four neighbours (R. Keys, "Cubic convolution interpolation", 1981)."""

    def near(x: np.ndarray) -> np.ndarray:
        return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1

    def far(x: np.ndarray) -> np.ndarray:
        return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC

    return [far(share + 1), near(share), near(1 - share), far(2 - share)]


def cubic(input: Tensor, dim: int, at: np.ndarray) -> Tensor:
    low, size = np.floor(at), input.shape[dim]
    total: Any = None
    for k, weight in enumerate(cubic_weights(at - low), -1):
        part = chosen(input, dim, np.clip(low + k, 0, size - 1)) * along(input, dim, weight)
        total = part if total is None else total + part
    return total


def smoothing(input, size: int, out: int, factor: float | None, mode: str, corners: bool) -> Tensor:
    """The (size, out) matrix of a filter that is as wide as what it shrinks."""
    step = (size - 1) / (out - 1) if corners and out > 1 else size / out
    step = 1 / factor if factor is not None and not corners else step
    width = max(step, 1.0)
    reach = width * SMOOTH[mode]
    matrix = np.zeros((size, out))
    for k in range(out):
        centre = step * (k + 0.5)
        start, end = max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), size)
        x = np.abs((np.arange(start, end) - centre + 0.5) / width)
        weights = FILTERS[mode](x)
        matrix[start:end, k] = weights / weights.sum()
    return wgtorch.tensor(matrix, dtype=input.dtype, device=input.device)


def keys(x: np.ndarray, slope: float = -0.5) -> np.ndarray:
    near = ((slope + 2) * x - (slope + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * slope
    return np.where(x < 1, near, np.where(x < 2, far, 0))


FILTERS = {
    "bilinear": lambda x: np.maximum(0, 1 - x),
    "bicubic": keys,
    "lanczos": lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0),
}


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
