"""What a pool folds: windows over planes, which may reach into padding and over one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wgtorch.record import Record


class Window(Record):
    """What is pooled: sizes as (vertical, horizontal) pairs."""

    size: tuple[int, int]
    step: tuple[int, int]
    pad: tuple[int, int]
    apart: tuple[int, int] = (1, 1)  # from one element of a window to the next
    ceil: bool = False  # whether a window may reach over the end

    def reach(self, axis: int) -> int:
        """From the first to behind the last element of a window."""
        return self.apart[axis] * (self.size[axis] - 1) + 1

    def count(self, length: int, axis: int) -> int:
        """How many windows there are along an axis."""
        step, pad = self.step[axis], self.pad[axis]
        room = length + 2 * pad - self.reach(axis)
        count = -(-room // step) + 1 if self.ceil else room // step + 1
        if self.ceil and (count - 1) * step >= length + pad:
            count -= 1  # the last one must start inside
        return count

    def out(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        *planes, height, width = shape
        out = (self.count(height, 0), self.count(width, 1))
        if min(out) < 1:
            plane = planes[-1]
            raise RuntimeError(
                f"Given input size: ({plane}x{height}x{width}). Calculated output size:"
                f" ({plane}x{max(out[0], 0)}x{max(out[1], 0)}). Output size is too small"
            )
        return (*planes, *out)

    def room(self, shape: tuple[int, ...], out: tuple[int, ...]) -> tuple[int, int]:
        """The height and width that so many windows over a shape lie in, padding included."""
        rows, cols = [
            max((count - 1) * self.step[axis] + self.reach(axis), length + self.pad[axis])
            for axis, (length, count) in enumerate(zip(shape[-2:], out[-2:], strict=True))
        ]
        return rows, cols

    def elements(self, array: np.ndarray, fill: Any) -> Iterator[np.ndarray]:
        """Of every window the first element, then the second ...; `fill` in the padding."""
        shape, out = array.shape, self.out(array.shape)
        room = self.room(shape, out)
        if room != shape[-2:] or self.pad != (0, 0):
            padded = np.full((*shape[:-2], *room), fill, array.dtype)
            self.inner(padded, shape)[...] = array
            array = padded
        return self.spots(array, out)

    def inner(self, padded: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """What is not padding of an array with the room of this shape."""
        (top, left), (height, width) = self.pad, shape[-2:]
        return padded[..., top : top + height, left : left + width]

    def spots(self, padded: np.ndarray, out: tuple[int, ...]) -> Iterator[np.ndarray]:
        """Where in an array with room the first elements of all windows are, then the second ..."""
        for ky in range(self.size[0]):
            for kx in range(self.size[1]):
                y, x = ky * self.apart[0], kx * self.apart[1]
                rows = slice(y, y + (out[-2] - 1) * self.step[0] + 1, self.step[0])
                cols = slice(x, x + (out[-1] - 1) * self.step[1] + 1, self.step[1])
                yield padded[..., rows, cols]
