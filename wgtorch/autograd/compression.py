"""Compression of saved tensors where they are, before any copy: ready-made pairs of hooks.

Each kind states how far an element may be off, and check="values" holds it to that. Blocks are
runs of elements in memory order; each has a range of its own, and a constant one comes back exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from wgtorch.autograd.composition import Shares
from wgtorch.autograd.contents import Holding, fulfil, holdings
from wgtorch.autograd.parameters import is_parameter_memory
from wgtorch.autograd.saved_hooks import saved_tensors_hooks
from wgtorch.autograd.verified import grounded
from wgtorch.dtype import bfloat16, bool_, float16, float32, uint8
from wgtorch.layout import Layout

LARGEST_HALF = 65504.0
SMALLEST_STEP = 1e-36  # between two levels; its inverse is a float still
_constants: dict[Any, Any] = {}  # small tensors that kernels read, by device


@dataclass(frozen=True)
class Format:
    """How elements are written: `pack(tensor)` gives tensors, `unpack` of them the elements."""

    pack: Callable[[Any, int], tuple]
    unpack: Callable[[Any, Any, int], Any]  # (parts, the saved layout, block)
    bound: Callable[[Any, int], Any]
    block: int = 0  # elements that share a range; 0: none do
    takes: Callable[[Any], bool] = lambda dtype: dtype.is_floating_point and dtype.itemsize > 1
    rounds: bool = False  # to a number of levels, which has no derivative


# Halves


def to_half(tensor: Any, block: int) -> tuple:
    finite = tensor.clamp(-LARGEST_HALF, LARGEST_HALF)
    return (tensor.where(tensor.isinf(), finite).to(float16),)


def to_bfloat(tensor: Any, block: int) -> tuple:
    return (tensor.to(bfloat16),)


def from_half(parts: Any, layout: Layout, block: int) -> Any:
    return parts[0]


def bound_of_half(tensor: Any, block: int) -> Any:
    """2^-11 of the element; 2^-25 below 2^-14; beyond 65504, how far it is beyond."""
    size = tensor.abs().float()
    near = (size * 2.0**-11).clamp(min=2.0**-25)
    return near.where(size <= LARGEST_HALF, size - LARGEST_HALF)


def bound_of_bfloat(tensor: Any, block: int) -> Any:
    """2^-8 of the element."""
    return tensor.abs().float() * 2.0**-8 + 2.0**-133


# Blocks of 8 and 4 bits


def rows_of(tensor: Any, block: int) -> tuple[Any, Any]:
    """(the elements in rows of `block`, those left over as they are or None)."""
    flat = tensor.reshape((-1,))
    whole = tensor.layout.numel // block * block
    left = flat[whole:].clone() if whole < tensor.layout.numel else None
    return flat[:whole].reshape((-1, block)), left


def joined(rows: Any, left: Any, layout: Layout) -> Any:
    flat = rows.reshape((-1,))
    if left is not None:
        whole = left.new_empty((layout.numel,))
        whole[: flat.layout.numel].copy_(flat)
        whole[flat.layout.numel :].copy_(left)
        flat = whole
    return flat.reshape(layout.shape)


def ranges(rows: Any, levels: int) -> tuple[Any, Any]:
    """(lowest element, distance of two levels) of each row."""
    low, high = rows.amin(1, True), rows.amax(1, True)
    return low, high / levels - low / levels  # their difference may be too large for a float


def to_bytes(tensor: Any, block: int) -> tuple:
    rows, left = rows_of(tensor, block)
    return *rows._quantize(255), left


def from_bytes(parts: Any, layout: Layout, block: int) -> Any:
    levels, low, step, left = parts
    return joined(levels._dequantize(low, step), left, layout)


def to_nibbles(tensor: Any, block: int) -> tuple:
    rows, left = rows_of(tensor, block)
    return *rows[:, : block // 2]._quantize_pairs(rows[:, block // 2 :], 15), left


def from_nibbles(parts: Any, layout: Layout, block: int) -> Any:
    pairs, low, step, left = parts
    levels = pairs.unsqueeze(-2)._digit(powers(pairs, 1 / 16, 2).unsqueeze(-1), 16, 1 / 16)
    return joined(levels._dequantize(low.unsqueeze(-1), step.unsqueeze(-1)), left, layout)


def powers(like: Any, base: float, count: int) -> Any:
    """1, base, base^2 ... on the device of a tensor."""
    like = grounded(like)  # a tensor of a transform would not outlive it
    key = like.device, base, count
    known = _constants.get(key)
    if known is None:
        numbers = [base**i for i in range(count)]
        known = _constants[key] = like.new_tensor(numbers, dtype=float32)
    return known


def bound_of_blocks(levels: int) -> Callable[[Any, int], Any]:
    def bound(tensor: Any, block: int) -> Any:
        """Half the distance of two levels, and the rounding of the numbers it takes."""
        rows, left = rows_of(tensor.float(), block)
        low, step = ranges(rows, levels)
        size = low.abs().maximum(rows.amax(1, True).abs())
        each = (step * 0.501 + size * 2.0**-21 + 256 * SMALLEST_STEP).expand(rows.layout.shape)
        each = joined(each, None if left is None else left * 0, tensor.layout)
        rounded = tensor.dtype.itemsize == 2  # a half rounds once more
        return each + tensor.abs().float() * 2.0**-8 if rounded else each

    return bound


# One bit


def to_bits(tensor: Any, block: int) -> tuple:
    rows, left = rows_of(tensor, 8)
    return (rows.float() * powers(tensor, 2, 8)).sum(1).to(uint8), left


def from_bits(parts: Any, layout: Layout, block: int) -> Any:
    bits, left = parts
    digits = bits.unsqueeze(-1)._digit(powers(bits, 1 / 2, 8), 2, 1 / 2)
    return joined(digits > 0.5, left, layout)


def to_signs(tensor: Any, block: int) -> tuple:
    return to_bits(~(tensor <= 0), block)  # NaN passes a gradient, as a positive number does


def exactly(tensor: Any, block: int) -> Any:
    return 0.0


def anything(tensor: Any, block: int) -> Any:
    return float("inf")


BITS = Format(to_bits, from_bits, exactly, 8, takes=lambda dtype: dtype is bool_)
FORMATS = {
    "float16": Format(to_half, from_half, bound_of_half, takes=lambda d: d.itemsize > 2),
    "bfloat16": Format(to_bfloat, from_half, bound_of_bfloat, takes=lambda d: d.itemsize > 2),
    "int8": Format(to_bytes, from_bytes, bound_of_blocks(255), 256, rounds=True),
    "int4": Format(to_nibbles, from_nibbles, bound_of_blocks(15), 128, rounds=True),
    "mask1": BITS,
    "sign1": Format(to_signs, from_bits, anything, 8),
}


class Compressed:
    """A tensor in fewer bits."""

    __slots__ = ("block", "dtype", "format", "layout", "parts")
    place = "compressed"

    def __init__(self, format: Format, parts: Any, layout: Layout, dtype: Any, block: int):
        self.format, self.parts, self.block = format, parts, block
        self.layout, self.dtype = layout, dtype

    def opened(self) -> Any:
        return self.format.unpack(self.parts, self.layout, self.block).to(self.dtype)

    def mapped(self, function: Callable) -> Compressed:
        parts = tuple([function(part) for part in self.parts])
        return Compressed(self.format, parts, self.layout, self.dtype, self.block)

    def holdings(self) -> Iterator[Holding]:
        return holdings(self.parts)


@dataclass(frozen=True)
class Packer:
    """How tensors are packed: those it is for."""

    format: Format
    min_elements: int
    block: int

    def format_of(self, tensor: Any) -> Format | None:
        if tensor.layout.numel < self.min_elements or is_parameter_memory(tensor):
            return None
        dtype = tensor.dtype
        if dtype is bool_:
            return BITS
        if not dtype.is_floating_point or not self.format.takes(dtype):
            return None
        return None if self.format.rounds and has_tangent(tensor) else self.format

    def packed(self, tensor: Any) -> Any:
        format = self.format_of(tensor)
        if format is None:
            return tensor
        parts = format.pack(tensor.bare(), self.block)
        fulfil(parts)  # or they would hold on to what they are made of
        return Compressed(format, parts, tensor.layout, tensor.dtype, self.block)

    def error(self, tensor: Any) -> Any:
        """How far each element may be off."""
        format = self.format_of(tensor)
        return 0.0 if format is None else format.bound(tensor, self.block)


class compress(saved_tensors_hooks):
    """Inside, tensors saved for backward are kept in fewer bits, made on their own device.

    | kind | of 32 bits | off by at most |
    |---|---|---|
    | "float16" | 16 | 2^-11 of the element (2^-25 below 2^-14); 65504 stands for what is beyond |
    | "bfloat16" | 16 | 2^-8 of the element |
    | "int8" | 8.25 | 1/510 of the range of its block, the 256 elements around it |
    | "int4" | 4.5 | 1/30 of the range of its block of 128 |
    | "sign1" | 1 | all but the sign: for slots of which backward asks no more, see below |

    All keep a bool in one bit, exactly; "mask1" does only that. Integers, parameters and tensors of
    fewer than `min_elements` stay as they are. `block` is another number of elements that share a
    range. A NaN or infinity makes its whole block NaN in "int8" and "int4". These two leave alone
    what has a tangent of forward mode, which would be lost.

    The gradient of relu asks only where its result is positive, which takes a bit::

        pair_if(lambda op, slot, t: (op, slot) == ("relu", "result"), compress("sign1"))

    To send what is left to the host: `compose_hooks(save_on_cpu(), compress("int8"))`. What is
    saved in several slots is compressed once.
    """

    def __init__(
        self,
        kind: str = "int8",
        *,
        min_elements: int = 256,
        block: int | None = None,
        check: str | None = None,
    ):
        if kind not in FORMATS:
            raise ValueError(f"compress: kind is one of {', '.join(FORMATS)}; got {kind!r}")
        if block is not None and (block < 2 or block % 2):
            raise ValueError(f"compress: block is an even number of elements, got {block!r}")
        format = FORMATS[kind]
        packer = Packer(format, min_elements, format.block if block is None else block)
        self.packed, self.error = packer.packed, packer.error
        self.alone = saved_tensors_hooks(packer.packed, opened)  # for compose_hooks
        shares = Shares(packer.packed, opened)
        super().__init__(shares.pack, shares.unpack, check=check, atol=packer.error)


def has_tangent(tensor: Any) -> bool:
    """Whether it is part of a forward-mode derivative, at any level."""
    while hasattr(backend := tensor.storage.value.device.backend, "inside"):
        if hasattr(backend, "tangent") and backend.tangent(tensor) is not None:
            return True
        tensor = backend.inside(tensor)
    return False


def opened(packed: Any) -> Any:
    return packed.opened() if type(packed) is Compressed else packed
