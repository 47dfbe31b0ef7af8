"""How an n-d index becomes a position in memory. Pure arithmetic: no data, no device.

Layouts are interned: the same shape, strides and offset give the same object (until 65,536 others
pushed it out), so `is` is a sound shortcut, and what is derived from a layout is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import prod
from numbers import Integral

from wgtorch.errors import BroadcastError, DimOutOfRangeError

LONGEST = 1 << 31  # of steps: one that is longer takes one element too
remembered = lru_cache(maxsize=1 << 16, typed=True)  # 1.0 is not 1 here


def whole(numbers: Iterable) -> tuple[int, ...]:
    """Sizes as ints: a shape of floats that once got in would be found for ints, too."""
    numbers = tuple(numbers)
    for place, number in enumerate(numbers):
        if not hasattr(number, "__index__"):
            raise TypeError(
                f"argument 'size' must be tuple of ints, but found element of type"
                f" {type(number).__name__} at pos {place}"
            )
    return tuple([int(number.__index__()) for number in numbers])


# Forms: what a kernel's text must know of a layout. The numbers in it are data (`Layout.numbers`).
PLAIN = 0  # element i is at i
OFFSET = 1  # at offset + i
SINGLE = 2  # every element is the one at offset
STRIDED = 3  # 3 + n: offset and the n axes that move, outermost first


MOST_DIMS = 64  # numpy's


class Layout:
    __slots__ = ("_flat", "_form", "_numbers", "_reading", "is_contiguous", "is_plain", "numel",
                 "offset", "shape", "strides")  # fmt: skip

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0):
        if any([type(n) is not int for n in (*shape, *strides, offset)]):
            shape, strides, (offset,) = whole(shape), whole(strides), whole((offset,))
        if len(shape) > MOST_DIMS:
            raise RuntimeError(f"{len(shape)} dimensions: a tensor has at most {MOST_DIMS}")
        self.shape, self.strides, self.offset = shape, strides, offset  # in elements
        self.numel = prod(shape)
        pairs = zip(shape, strides, row_major(shape), strict=True)
        self.is_contiguous = not self.numel or all(n == 1 or s == want for n, s, want in pairs)
        self.is_plain = self.is_contiguous and not offset  # element i sits at position i
        self._flat: Layout | None = None
        self._form: int | None = None
        self._numbers: tuple[int, ...] | None = None
        self._reading: tuple[int, tuple[int, ...], str] | None = None

    def __repr__(self) -> str:
        return "torch.strided"  # as PyTorch shows what `x.layout` is

    @staticmethod
    @remembered
    def of(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Layout:
        return Layout(shape, strides, offset)

    @staticmethod
    @remembered
    def contiguous(shape: tuple[int, ...]) -> Layout:
        strides = row_major(shape)
        if strides and strides[0] >= 1 << 63:
            raise RuntimeError(
                "Stride calculation overflowed" if 0 in shape
                else f"Storage size calculation overflowed with sizes={list(shape)}"
            )  # fmt: skip
        return Layout.of(tuple(shape), strides, 0)

    @staticmethod
    def strided(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Layout:
        """What a user asks `as_strided` for, or PyTorch's complaint."""
        if len(shape) != len(strides):
            raise RuntimeError("mismatch in length of strides and shape")
        if any(s < 0 for s in strides):
            raise RuntimeError(
                f"as_strided: Negative strides are not supported at the moment, got strides:"
                f" {list(strides)}"
            )
        if any(n < 0 for n in shape):
            raise RuntimeError(
                f"Storage size calculation overflowed with sizes={list(shape)} and"
                f" strides={list(strides)}"
            )
        if offset < 0:
            raise RuntimeError(f"Tensor: invalid storage offset {offset}")
        return Layout.of(shape, strides, offset)

    @property
    def extent(self) -> int:
        """How many elements of memory it reaches over, counted from position 0."""
        if not self.numel:
            return 0
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return self.offset + last + 1

    @property
    def has_channels_last(self) -> bool:
        """Whether dimension 1 is the innermost, and the rest lie in their order around it."""
        inside = 1
        for d in (1, *range(len(self.shape) - 1, 1, -1), 0):
            if self.shape[d] != 1 and self.strides[d] != inside:
                return False
            inside *= self.shape[d]
        return True

    # Other ways to look at the same memory

    @remembered
    def permute(self, dims: tuple[int, ...]) -> Layout:
        shape, strides = tuple(self.shape[d] for d in dims), tuple(self.strides[d] for d in dims)
        return Layout.of(shape, strides, self.offset)

    @remembered
    def expand(self, shape: tuple[int, ...]) -> Layout:
        """Broadcast to `shape`; a repeated axis gets stride 0."""
        new = len(shape) - len(self.shape)
        if new < 0:
            raise ValueError(f"cannot expand {self.shape} to {shape}")
        old_shape, old_strides = (1,) * new + self.shape, (0,) * new + self.strides
        strides = []
        for have, want, stride in zip(old_shape, shape, old_strides, strict=True):
            if have not in (1, want):
                raise ValueError(f"cannot expand {self.shape} to {shape}")
            strides.append(stride if have == want else 0)
        return Layout.of(tuple(shape), tuple(strides), self.offset)

    @remembered
    def slice(self, dim: int, start: int, length: int, step: int = 1) -> Layout:
        shape, strides = list(self.shape), list(self.strides)
        offset = self.offset + start * strides[dim]
        shape[dim] = length
        strides[dim] *= min(step, LONGEST)
        return Layout.of(tuple(shape), tuple(strides), offset)

    @remembered
    def select(self, dim: int, index: int) -> Layout:
        """Axis `dim` gone, at `index`."""
        offset = self.offset + index * self.strides[dim]
        return Layout.of(without(self.shape, dim), without(self.strides, dim), offset)

    @remembered
    def unsqueeze(self, dim: int) -> Layout:
        inside = self.shape[dim] * self.strides[dim] if dim < len(self.shape) else 1
        shape = (*self.shape[:dim], 1, *self.shape[dim:])
        return Layout.of(shape, (*self.strides[:dim], inside, *self.strides[dim:]), self.offset)

    @remembered
    def squeeze(self, dims: tuple[int, ...]) -> Layout:
        """Without those of `dims` that have size 1."""
        kept = [d for d, n in enumerate(self.shape) if d not in dims or n != 1]
        shape, strides = tuple(self.shape[d] for d in kept), tuple(self.strides[d] for d in kept)
        return Layout.of(shape, strides, self.offset)

    @remembered
    def diagonal(self, offset: int, dim1: int, dim2: int) -> Layout:
        rows, cols = self.shape[dim1], self.shape[dim2]
        length = max(0, min(rows + min(offset, 0), cols - max(offset, 0)))
        move = offset * self.strides[dim2] if offset > 0 else -offset * self.strides[dim1]
        kept = [d for d in range(len(self.shape)) if d not in (dim1, dim2)]
        shape = (*(self.shape[d] for d in kept), length)
        strides = (*(self.strides[d] for d in kept), self.strides[dim1] + self.strides[dim2])
        return Layout.of(shape, strides, self.offset + (move if length else 0))

    @remembered
    def windows(self, dim: int, size: int, step: int) -> Layout:
        """Every window of `size` elements along `dim`, its elements as a new last axis."""
        shape, strides = list(self.shape), list(self.strides)
        count = (shape[dim] - size) // step + 1
        inner = strides[dim]
        shape[dim], strides[dim] = count, inner * min(step, LONGEST)
        return Layout.of((*shape, size), (*strides, inner), self.offset)

    @remembered
    def reshape(self, shape: tuple[int, ...]) -> Layout | None:
        """The same memory under a new shape, or None when only a copy can do that."""
        if self.is_contiguous:
            return Layout.of(tuple(shape), row_major(shape), self.offset)
        strides: list[int] = []
        todo = list(reversed(shape))
        for size, stride in reversed(self.merged()):
            left = size
            while todo and left > 1 and left % todo[0] == 0 and todo[0] != 0:
                strides.append(stride)
                stride *= todo[0]
                left //= todo.pop(0)
            if left != 1:
                return None
        strides += [strides[-1] if strides else 1] * len(todo)  # only ones are left
        return Layout.of(tuple(shape), tuple(reversed(strides)), self.offset)

    def merged(self) -> list[tuple[int, int]]:
        """(size, stride) of the axes, those that walk memory as one merged."""
        axes: list[tuple[int, int]] = []
        for size, stride in zip(self.shape, self.strides, strict=True):
            if size == 1:
                continue
            if axes and axes[-1][1] == size * stride:
                axes[-1] = (axes[-1][0] * size, stride)
            else:
                axes.append((size, stride))
        return axes

    def collapse(self) -> Layout:
        """With axes merged: fewer axes, fewer kernels."""
        if self._flat is None:
            axes = self.merged() or [(1, 1)]
            shape, strides = tuple(a[0] for a in axes), tuple(a[1] for a in axes)
            self._flat = Layout.of(shape, strides, self.offset)
        return self._flat

    @property
    def overlaps(self) -> bool:
        """Whether two indices may share a position (as after `expand`)."""
        if self.is_contiguous:
            return False
        reach = 0
        for stride, size in sorted(self.moving):
            if stride <= reach:
                return True
            reach += stride * (size - 1)
        return False

    @property
    def moving(self) -> list[tuple[int, int]]:
        """(stride, size) of the axes that have more than one element."""
        return [(s, n) for n, s in zip(self.shape, self.strides, strict=True) if n > 1]

    @property
    def once(self) -> Layout:
        """Itself without repetition: size 1 where an axis of more elements does not move."""
        if 0 not in self.strides or not self.numel:
            return self
        pairs = zip(self.shape, self.strides, strict=True)
        return Layout.of(tuple([n if s else 1 for n, s in pairs]), self.strides, self.offset)

    @property
    def is_dense(self) -> bool:
        """Whether its elements are one stretch of memory, in any order of axes."""
        reach = 1
        for stride, size in sorted(self.moving):
            if stride != reach:
                return False
            reach *= size
        return True

    # What a kernel must know: structure is text, numbers are data

    @property
    def form(self) -> int:
        if self._form is None:
            flat = self.collapse()
            if flat.is_contiguous:
                self._form = OFFSET if self.offset else PLAIN
            else:
                moving = sum(stride != 0 for stride in flat.strides)
                self._form = STRIDED + moving if moving else SINGLE
        return self._form

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of this form: offset, then (elements inside, size, stride) of each axis that moves."""
        if self._numbers is None:
            flat, form = self.collapse(), self.form
            axes = zip(row_major(flat.shape), flat.shape, flat.strides, strict=True)
            moving = [axis for axis in axes if axis[2]]
            more: tuple[int, ...] = sum(moving, ()) if form > STRIDED else ()
            # a stride is negative where a copy is made backwards; kernels count modulo 2**32
            self._numbers = tuple([n & 0xFFFFFFFF for n in (self.offset, *more)]) if form else ()
        return self._numbers

    @property
    def by_fours(self) -> str:
        """How four neighbours of a strided form lie: in one "quad" of memory, all at one place
        ("same"), one "step" apart, or anyhow ("").
        """
        flat = self.collapse()
        if flat.shape[-1] % 4:
            return ""
        inner = flat.strides[-1]
        if inner == 1 and not self.offset % 4 and not any(s % 4 for s in flat.strides[:-1]):
            return "quad"
        return "step" if inner else "same"

    @property
    def reading(self) -> tuple[int, tuple[int, ...], str]:
        """How a kernel reads it: its form, the numbers of that, how four neighbours lie."""
        if self._reading is None:
            form, fours = self.form, ""
            if form == OFFSET:
                fours = "" if self.offset % 4 else "quad"
            elif form > SINGLE:
                fours = self.by_fours
            self._reading = form, self.numbers, fours
        return self._reading


def without(sizes: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*sizes[:dim], *sizes[dim + 1 :])


def row_major(shape: Iterable[int]) -> tuple[int, ...]:
    strides, inside = [], 1
    for size in reversed(tuple(shape)):
        strides.append(inside)
        inside *= size or 1
    return tuple(reversed(strides))


@remembered
def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape. The error is PyTorch's."""
    rank = max(map(len, shapes), default=0)
    result = list((1,) * rank)
    for shape in shapes:
        start = rank - len(shape)
        for d, size in reversed(list(enumerate(shape, start))):
            if result[d] == 1:
                result[d] = size
            elif size not in (1, result[d]):
                raise BroadcastError(
                    f"The size of tensor a ({result[d]}) must match the size of tensor b ({size})"
                    f" at non-singleton dimension {d}"
                )
    return tuple(result)


@remembered
def repeated_dims(shape: tuple[int, ...], small: tuple[int, ...]) -> tuple[int, ...]:
    """Along which a tensor of the shape `small` is repeated to have `shape`."""
    new = len(shape) - len(small)
    padded = (1,) * new + small
    if new < 0 or any(n not in (1, m) for n, m in zip(padded, shape, strict=True)):
        raise RuntimeError(f"size {{{list(small)}}} is not expandable to size {{{list(shape)}}}.")
    return tuple(d for d, n in enumerate(padded) if n == 1 and shape[d] != 1)


@remembered
def overlap(a: Layout, b: Layout, sizes: tuple[int, int] = (1, 1)) -> str:
    """How much of one memory two views share, whose elements have `sizes`: "all", "part" or "".

    As in PyTorch only those without gaps are compared: of others it is not asked.
    """
    if not (a.numel and b.numel and a.is_dense and b.is_dense):
        return ""
    first, other = (
        (at.offset * size, (at.offset + at.numel) * size)
        for at, size in zip((a, b), sizes, strict=True)
    )
    if first == other:
        alike = len(a.shape) == len(b.shape) and a.moving == b.moving
        return "all" if alike else "part"
    return "part" if first[0] < other[1] and other[0] < first[1] else ""


@remembered
def meet(*layouts: Layout) -> Layout:
    """Where the result of an elementwise op on these goes."""
    return Layout.contiguous(broadcast(*(layout.shape for layout in layouts)))


@remembered
def wrap_dim(dim: int, rank: int) -> int:
    """A dim counted from the front. A 0-d tensor takes 0 and -1. numpy's ints are welcome."""
    if type(dim) is not int:
        if type(dim) is bool or not isinstance(dim, Integral):
            raise TypeError(f"dim must be an int, not {type(dim).__name__}")
        dim = int(dim)
    bound = rank or 1
    if not -bound <= dim < bound:
        if not -(1 << 63) <= dim < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        raise DimOutOfRangeError(
            f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got"
            f" {dim})"
        )
    return dim % bound


def wrap_real_dim(dim: int, rank: int) -> int:
    """The same where a 0-d tensor has none to take."""
    if not rank and isinstance(dim, int):
        raise DimOutOfRangeError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, rank)
