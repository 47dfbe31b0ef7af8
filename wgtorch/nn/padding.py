"""Padding: margins around a tensor, of one value or of its own elements."""

from __future__ import annotations

from collections.abc import Sequence

from wgtorch import Tensor
from wgtorch.ops.margins import MODES, MOST


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Adds (or, negative, takes) elements before and after: pairs, from the last dimension.

    Modes: "constant" (`value`, or 0), "reflect", "replicate", "circular".
    """
    if isinstance(pad, str) or not (value is None or isinstance(value, int | float)):
        raise TypeError(
            f"pad(): pad must be a tuple of ints and value a number, not {pad}, {value}"
        )
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but "
            f"got padding length {len(pad)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        return input.constant_pad_nd(tuple(pad), 0 if value is None else value)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(pad) > 2 * MOST:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor: at most "
            f"{MOST} dimensions may have margins that are not constant"
        )
    pairs = [(input.ndim - 1 - k // 2, pad[k], pad[k + 1]) for k in range(0, len(pad), 2)]
    for dim, before, after in pairs:
        check_margins(input, dim, before, after, mode)
    if mode == "circular":  # what is cut off does not come back at the other end
        for dim, before, after in pairs:
            start, end = max(-before, 0), input.shape[dim] - max(-after, 0)
            input = input.narrow(dim, start, end - start)
        pad = [max(n, 0) for n in pad]
    return input._margins(tuple(pad), mode) if pad else input  # type: ignore[attr-defined]


def check_margins(input: Tensor, dim: int, before: int, after: int, mode: str) -> None:
    """PyTorch's complaints, and one about what leaves less than nothing."""
    size = input.shape[dim]
    if mode == "circular" and max(before, after) > size:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if mode == "reflect" and max(before, after) >= size:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, but got: "
            f"padding ({before}, {after}) at dimension {dim} of input {list(input.shape)}"
        )
    if mode == "replicate" and not size and (before > 0 or after > 0):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    left = size + (min(before, 0) + min(after, 0) if mode == "circular" else before + after)
    if left < 0:
        raise RuntimeError(
            f"pad: margins of {before} and {after} leave less than nothing of dimension {dim} of "
            f"{tuple(input.shape)}"
        )
