"""A Walk is the way a fold goes through memory: rows that stay, columns that are folded into them.

Pure arithmetic on layouts. Axes that walk memory as one are merged, in any operand's layout at
once, so a fold over any dims of any layouts becomes `rows x outer x cols`, with one place to start
a row at and one step from column to column for each way an operand lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from wgtorch.layout import Layout


class Place(NamedTuple):
    """How an operand lies under a walk, in elements."""

    offset: int
    rows: tuple[int, ...]  # strides of the axes that stay, outermost first
    outers: tuple[int, ...]  # of the axes that are folded, but the innermost
    inner: int  # of that one
    # Of neighbours: in one "quad" or "oct", in one that is gone through "back", all the "same", one
    # "step" apart
    mode: str = ""


@dataclass(frozen=True)
class Walk:
    rows: int
    outer: int
    cols: int
    row_sizes: tuple[int, ...]
    outer_sizes: tuple[int, ...]
    places: tuple[Place, ...]  # the different ones
    which: tuple[int, ...]  # each operand's
    quads: str  # four elements at once "along" a row, of four rows "across"; "" one by one
    by_row: bool  # whether neighbours in memory are neighbouring rows
    wide: bool = False  # whether those four are eight

    @property
    def many(self) -> int:
        """How many elements are taken at once."""
        return (8 if self.wide else 4) if self.quads else 1

    @property
    def units(self) -> int:
        """Rows, or as many of them as are taken at once."""
        return self.rows // self.many if self.quads == "across" else self.rows

    @property
    def step(self) -> int:
        """How many columns are taken at once."""
        return self.many if self.quads == "along" else 1

    @property
    def ragged(self) -> bool:
        """Whether the last quad of a row is not full."""
        return self.quads == "along" and self.cols % 4 != 0

    @property
    def structure(self) -> tuple:
        """What a kernel's text must know; the rest are its numbers."""
        forms = [(p.offset != 0, p.inner if p.inner in (0, 1) else 2, p.mode) for p in self.places]
        return (len(self.row_sizes), len(self.outer_sizes), tuple(forms), self.which, self.quads,
                self.ragged, self.wide)  # fmt: skip

    @property
    def numbers(self) -> tuple[int, ...]:
        numbers = [*self.row_sizes[1:], *self.outer_sizes[1:]]
        for place in self.places:
            if place.offset:
                numbers.append(place.offset)
            numbers += [*place.rows, *place.outers]
            if place.inner not in (0, 1):
                numbers.append(place.inner)
        return tuple([n & 0xFFFFFFFF for n in numbers])


def walk(
    shape: tuple[int, ...], dims: tuple[int, ...], layouts: Sequence[Layout], in_order: bool,
    written: int = 0, wide: str = "",
) -> Walk:  # fmt: skip
    """The walk that folds `dims` of operands that lie as `layouts` say (all of one shape).

    The largest operand decides what is near what. `in_order` keeps the folded axes in their order;
    else the closest are innermost. The last `written` operands are written, if by fours then by
    whole words. `wide` says which quads may be eight elements: "", "along" or "along across".
    """
    strides = [layout.strides for layout in layouts]
    lead = max(range(len(layouts)), default=0, key=lambda n: distinct(layouts[n]))
    folded = list(dims)
    if not in_order and layouts:
        folded.sort(key=lambda d: -abs(strides[lead][d]))
    kept = [d for d in range(len(shape)) if d not in dims]
    row_sizes, row_strides = merged(shape, strides, kept)
    col_sizes, col_strides = merged(shape, strides, folded)
    *outers, cols = col_sizes or (1,)
    places = [
        Place(layout.offset, rows, tuple(cols_[:-1]), cols_[-1] if cols_ else 0)
        for layout, rows, cols_ in zip(layouts, row_strides, col_strides, strict=True)
    ]
    quads = how_many(places, lead, row_sizes, cols, written) if places else ""
    is_wide = bool(quads) and quads in wide and fills_eight(places[lead], quads, row_sizes, cols)
    if quads:
        places = [place._replace(mode=mode_of(place, quads, is_wide)) for place in places]
    different = tuple(dict.fromkeys(places))
    main = places[lead] if places else None
    near = main is not None and bool(main.rows) and 0 < main.rows[-1] < (abs(main.inner) or 1 << 32)
    return Walk(prod(row_sizes), prod(outers), cols, tuple(row_sizes), tuple(outers), different,
                tuple(different.index(p) for p in places), quads, near, is_wide)  # fmt: skip


def distinct(layout: Layout) -> int:
    return prod(n for n, s in zip(layout.shape, layout.strides, strict=True) if s)


def merged(
    shape: tuple[int, ...], strides: Sequence[tuple[int, ...]], dims: list[int]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """(sizes, strides of each operand) of `dims`, those that walk memory as one merged."""
    sizes: list[int] = []
    steps: list[list[int]] = []  # of each axis: of each operand
    for d in dims:
        if shape[d] == 1:
            continue
        here = [s[d] for s in strides]
        if sizes and all(a == shape[d] * b for a, b in zip(steps[-1], here, strict=True)):
            sizes[-1] *= shape[d]
            steps[-1] = here
        else:
            sizes.append(shape[d])
            steps.append(here)
    return sizes, [tuple(step[n] for step in steps) for n in range(len(strides))]


def how_many(places: list[Place], lead: int, row_sizes: list[int], cols: int, written: int) -> str:
    """Which elements the lead operand gives four at a time."""
    whole = [places[lead], *places[len(places) - written :]]
    for quads in ("along", "across"):
        if quads == "across" and (not row_sizes or row_sizes[-1] % 4):
            continue
        if quads == "along" and (cols < 4 or (written and cols % 4)):
            continue
        if all(mode_of(place, quads) in ("quad", "back") for place in whole):
            return quads
    return ""


def fills_eight(place: Place, quads: str, row_sizes: list[int], cols: int) -> bool:
    size = cols if quads == "along" else row_sizes[-1]
    return size % 8 == 0 and mode_of(place, quads, True) == "oct"


def mode_of(place: Place, quads: str, wide: bool = False) -> str:
    along = quads == "along"
    if along:
        near, far = place.inner, (*place.rows, *place.outers)
    else:
        near, far = place.rows[-1], (*place.rows[:-1], *place.outers, place.inner)
    if along and near == -1 and not any(s % 4 for s in (place.offset + 1, *far)):
        return "back"
    for size, mode in ((8, "oct"), (4, "quad")):
        if near == 1 and (wide or size == 4) and not any(s % size for s in (place.offset, *far)):
            return mode
    return "step" if near else "same"
