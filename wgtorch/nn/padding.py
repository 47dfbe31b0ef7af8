"""Padding: margins around a tensor, of one value or of its own elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wgtorch import Tensor, cat


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
    if mode not in MARGINS:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    for place in range(0, len(pad), 2):
        dim, before, after = input.ndim - 1 - place // 2, pad[place], pad[place + 1]
        whole = input
        input = input.narrow(dim, max(-before, 0), cut(input, dim, before, after))
        before, after = max(before, 0), max(after, 0)
        if before or after:
            edges = input if mode == "circular" else whole
            left, right = MARGINS[mode](edges, dim, before, after)
            parts = [left] * (before > 0) + [input] + [right] * (after > 0)
            input = cat(parts, dim)
    return input


def cut(input: Tensor, dim: int, before: int, after: int) -> int:
    left = input.shape[dim] + min(before, 0) + min(after, 0)
    if left < 0:
        raise RuntimeError(
            f"pad: taking {-min(before, 0)} and {-min(after, 0)} elements from dimension {dim} "
            f"of {tuple(input.shape)} leaves less than none"
        )
    return left


def reflected_margins(input: Tensor, dim: int, before: int, after: int) -> Any:
    size = input.shape[dim]
    if max(before, after) >= size:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, but got: "
            f"padding ({before}, {after}) at dimension {dim} of input {list(input.shape)}"
        )
    left, right = input.narrow(dim, 1, before), input.narrow(dim, size - 1 - after, after)
    return left.flip(dim), right.flip(dim)


def repeated_margins(input: Tensor, dim: int, before: int, after: int) -> Any:
    first, last = input.narrow(dim, 0, 1), input.narrow(dim, input.shape[dim] - 1, 1)
    shape = list(input.shape)
    return [
        edge.expand([*shape[:dim], n, *shape[dim + 1 :]])
        for edge, n in ((first, before), (last, after))
    ]


def circular_margins(input: Tensor, dim: int, before: int, after: int) -> Any:
    size = input.shape[dim]
    if max(before, after) > size:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    return input.narrow(dim, size - before, before), input.narrow(dim, 0, after)


MARGINS = {
    "reflect": reflected_margins,
    "replicate": repeated_margins,
    "circular": circular_margins,
}
