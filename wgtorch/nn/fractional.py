"""Fractional pools: the largest of windows at random, nearly even distances.

B. Graham, "Fractional max-pooling" (2014), with pseudorandom steps: along a dimension window i
starts at floor((i + u) a) - floor(u a), a = (size - kernel) / (windows - 1), u random; the last
window ends with the dimension.
"""

from __future__ import annotations

from math import prod
from typing import Any

import wgtorch
from wgtorch import Tensor


def several(value: Any, dims: int) -> tuple[int, ...]:
    return (int(value),) * dims if isinstance(value, int) else tuple(int(v) for v in value)


def asked_sizes(input: Tensor, name: str, output_size: Any, output_ratio: Any, dims: int) -> Any:
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is not None:
        return several(output_size, dims)
    ratios = [output_ratio] * dims if isinstance(output_ratio, float) else output_ratio
    sizes = input.shape[-dims:]
    return tuple(int(n * ratio) for n, ratio in zip(sizes, ratios, strict=True))


def starts(draws: Tensor, size: int, out: int, kernel: int) -> Tensor:
    """Where the windows start: (N, C, out) of draws (N, C)."""
    if out == 1:
        return wgtorch.full((*draws.shape, 1), size - kernel, device=draws.device)
    step = (size - kernel) / (out - 1)
    place = wgtorch.arange(out, device=draws.device, dtype=draws.dtype)
    draws = draws.unsqueeze(-1)
    found = ((place + draws) * step).long() - (draws * step).long()
    return wgtorch.where(place == out - 1, size - kernel, found)


def pooled(
    name: str, dims: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any,
    draws: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(largest elements, their places in the flattened last dims) of (N, C, ...) or (C, ...)."""
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got"
                           f" {list(input.shape)}")  # fmt: skip
    out = asked_sizes(input, name, output_size, output_ratio, dims)
    batch = input if input.ndim == dims + 2 else input.unsqueeze(0)
    kernel, sizes = several(kernel_size, dims), tuple(batch.shape[2:])
    words = ("time", "height", "width")[-dims:]
    for word, k, n, o in zip(words, kernel, sizes, out, strict=True):
        if o + k - 1 > n:
            raise RuntimeError(f"{name}(): pool {word} {k} too large relative to input {word} {n}")
    if draws is None:
        draws = wgtorch.rand(*batch.shape[:2], dims, dtype=batch.dtype, device=batch.device)
    order = (1, 0) if dims == 2 else (0, 1, 2)  # planes draw for their width first
    places: Any = None
    for d, (n, o, k) in enumerate(zip(sizes, out, kernel, strict=True)):
        first = starts(draws.select(-1, order[d]), n, o, k)
        along = first.unsqueeze(-1) + wgtorch.arange(k, device=first.device)  # (N, C, o, k)
        spread = [1] * (2 * dims)
        spread[d], spread[dims + d] = o, k
        along = along.reshape(*first.shape[:2], *spread)
        places = along if places is None else places * n + along
    taps = prod(places.shape[2 + dims :])
    windows = places.reshape(*places.shape[: 2 + dims], taps).flatten(2, -2)
    flat = batch.flatten(2).unsqueeze(-2).expand(-1, -1, windows.shape[2], -1)
    best = flat.gather(-1, windows).detach().argmax(-1, keepdim=True)
    index = windows.gather(-1, best).squeeze(-1)
    values = batch.flatten(2).gather(-1, index)
    shape = (*input.shape[:-dims], *out)
    return values.reshape(shape), index.reshape(shape)


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As `fractional_max_pool2d`, always with indices."""
    return pooled("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio,
                  _random_samples)  # fmt: skip


def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The largest of windows at random places, of (N, C, H, W) or (C, H, W).

    `output_size`, or `output_ratio` of the input's size, says how many windows there are; with
    `return_indices` also where in the plane each largest is. Draws a random number for each channel
    and dimension, unless they are given, (N, C, 2).
    """
    both = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return both if return_indices else both[0]


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As `fractional_max_pool3d`, always with indices."""
    return pooled("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio,
                  _random_samples)  # fmt: skip


def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """As `fractional_max_pool2d`, of (N, C, T, H, W) or (C, T, H, W)."""
    both = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return both if return_indices else both[0]
