"""Padding: margins around a tensor, of one value or of its own elements."""

from __future__ import annotations

from collections.abc import Sequence

from wgtorch import Tensor
from wgtorch.dtype import bool_
from wgtorch.integers import int_tuple
from wgtorch.ops.margins import MODES, MOST, widened


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Adds (or, negative, takes) elements before and after: pairs, from the last dimension.

    Modes: "constant" (`value`, or 0), "reflect", "replicate", "circular".
    """
    pad = int_tuple("pad", "pad", pad, 2)
    if not (value is None or isinstance(value, int | float)):
        raise TypeError(
            f"pad(): argument 'value' (position 4) must be float, not {type(value).__name__}"
        )
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but "
            f"got padding length {len(pad)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        return input.constant_pad_nd(pad, 0 if value is None else value)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if not 0 < dims <= MOST or input.ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode != "circular":
        check_mirrored(input, pad, mode)
    pairs = [(input.ndim - 1 - k // 2, pad[k], pad[k + 1]) for k in range(0, len(pad), 2)]
    for dim, before, after in pairs:
        check_margins(input, dim, before, after, mode)
    if mode == "circular":  # what is cut off does not come back at the other end
        for dim, before, after in pairs:
            start, end = max(-before, 0), input.shape[dim] - max(-after, 0)
            input = input.narrow(dim, start, end - start)
        pad = tuple([max(n, 0) for n in pad])
    return input._margins(pad, mode)  # type: ignore[attr-defined]


KERNELS = {"reflect": "reflection_pad", "replicate": "replication_pad"}


def check_mirrored(input: Tensor, pad: tuple[int, ...], mode: str) -> None:
    """PyTorch's complaints about the whole input where margins are not circular."""
    dims, shape = len(pad) // 2, list(input.shape)
    if 0 in shape[input.ndim - dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size"
            f" and other non-zero dimensions for input, but got: {shape}"
        )
    wide = list(widened(input.shape, pad))[-dims:]
    if max(wide) < 1:
        names = "DHW"[-dims:]
        sizes = ", ".join([f"{n}: {size}" for n, size in zip(names, shape[-dims:], strict=True)])
        found = " ".join([f"{n}: {size}" for n, size in zip(names, wide, strict=True)])
        raise RuntimeError(f"input ({sizes}) is too small. Calculated output {found}")
    if input.dtype is bool_:
        raise NotImplementedError(f"\"{KERNELS[mode]}{dims}d\" not implemented for 'Bool'")


def check_margins(input: Tensor, dim: int, before: int, after: int, mode: str) -> None:
    """PyTorch's complaints, and one about copies of what is cut off."""
    size = input.shape[dim]
    if mode == "reflect" and max(before, after) >= size:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, but got: "
            f"padding ({before}, {after}) at dimension {dim} of input {list(input.shape)}"
        )
    if mode != "circular":
        if size + before + after < 0:
            raise RuntimeError(
                f"pad: margins of {before} and {after} leave less than nothing of dimension {dim}"
                f" of {tuple(input.shape)}"
            )
        return
    left = size + min(before, 0) + min(after, 0)
    if max(before, after) > size:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if left < 0:
        raise RuntimeError("Negative padding value is resulting in an empty dimension")
    if max(before, after) > left:
        raise RuntimeError(
            f"pad: circular margins of {before} and {after} leave {left} elements of dimension"
            f" {dim} of {tuple(input.shape)}, too few to copy {max(before, after)} from"
        )
