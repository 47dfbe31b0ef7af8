"""The different ones among elements, or among slices along a dim.

How many there are is data, so these ops wait for the GPU once. Rows are compared as their ranks:
each column is ranked by itself, then two ranks side by side are ranked as one, until one is left.
"""

from __future__ import annotations

from wgtorch.dtype import bool_, int32, int64, uint8
from wgtorch.layout import wrap_real_dim
from wgtorch.op import composite
from wgtorch.ops.batched import refuse
from wgtorch.ops.counting import CELLS, LIKELY, ends, few_numbers
from wgtorch.ops.ranking import same_as_before

MOST_INT32 = 46340  # the square of so many still fits
BOUND = 2**31 - 1  # numbers as far from 0 are not told from those beyond
MANY = 4096  # integers whose ends are worth waiting for


def runs(input, flags, numbered: bool = True, counted: bool = True):
    """(first of each run, number of the run that each element is in, lengths of the runs)."""
    starts = ~flags
    number = starts.cumsum(0) - 1 if numbered else None
    first = starts.nonzero().squeeze(1)
    if not counted:
        return first, number, None
    following = first._slice(0, 1, None)
    ends = first.new_full(tuple(first.shape), input.shape[0])
    ends = ends.slice_scatter(following, 0, 0, following.shape[0]) if following.numel() else ends
    return first, number, ends - first


def picked(values, inverse, counts, return_inverse: bool, return_counts: bool):
    more = [x for x, wanted in ((inverse, return_inverse), (counts, return_counts)) if wanted]
    return (values, *more) if more else values


def ranks(columns):
    """The rank of each element within its column; equals share one. Shape and dims are kept."""
    values, indices = columns._sort(0, False)
    number = (~same_as_before(values, 0)).to(int32).cumsum(0) - 1
    return number.new_zeros(tuple(number.shape)).scatter(0, indices, number)


def row_ranks(rows):
    """The rank of each row of a matrix, rows in lexicographic order; equal rows share one."""
    size = rows.shape[0]
    kind = int32 if size <= MOST_INT32 else int64
    known = ranks(rows.to(uint8) if rows.dtype is bool_ else rows).to(kind)
    while known.shape[1] > 1:
        width = known.shape[1]
        pairs = width // 2
        left, right = known._slice(1, 0, 2 * pairs, 2), known._slice(1, 1, 2 * pairs, 2)
        joined = ranks(left * size + right).to(kind)
        odd = known._slice(1, 2 * pairs, width)
        known = joined._cat([joined, odd], 1) if width % 2 else joined
    return known.select(1, 0)


def of_slices(input, dim: int, return_inverse: bool, return_counts: bool, consecutive: bool):
    """Along a dim: whole slices are compared."""
    axis = wrap_real_dim(dim, input.ndim)
    if 0 in input.shape[:axis] + input.shape[axis + 1 :]:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    size = input.shape[axis]
    if not size:
        empty = input.new_zeros((0,), dtype=int64)
        return picked(input, empty, empty, return_inverse, return_counts)
    rows = input.detach().movedim(axis, 0).reshape((size, -1))
    if consecutive:
        first, number, counts = runs(rows, same_as_before(rows, 0).all(1))
        return picked(input.index_select(axis, first), number, counts, return_inverse,
                      return_counts)  # fmt: skip
    inverse = row_ranks(rows).to(int64)
    order, where = inverse._sort(0, False)
    first, _, counts = runs(rows, same_as_before(order, 0))
    found = input.index_select(axis, where.index_select(0, first))
    return picked(found, inverse, counts, return_inverse, return_counts)


@composite(samples=None)
def unique(input, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None):  # fmt: skip
    "The different elements (slices along dim) in order; where each went, and how many there were."
    refuse(input, "unique")
    if dim is not None:
        return of_slices(input, dim, return_inverse, return_counts, False)
    flat = input.reshape((-1,))
    if not flat.numel():
        empty = flat.new_zeros((0,), dtype=int64)
        return picked(flat, empty.reshape(input.shape), empty, return_inverse, return_counts)
    if input.dtype.category == 1 and flat.numel() >= MANY:
        low, high, often = few_numbers(flat, 0, LIKELY)
        if max(abs(low), abs(high)) >= BOUND:
            low, high = ends(flat)
        if low < 0 or high >= LIKELY:
            often = None
        if high - low < flat.numel():
            return of_near_numbers(input, low, high, often, return_inverse, return_counts)
    values, indices = flat._sort(0, False)
    same = same_as_before(values.detach(), 0)
    first, inverse, counts = runs(flat, same, return_inverse, return_counts)
    if return_inverse:
        inverse = inverse.new_zeros(tuple(inverse.shape)).scatter(0, indices, inverse)
        inverse = inverse.reshape(input.shape)
    return picked(values.gather(0, first), inverse, counts, return_inverse, return_counts)


def of_near_numbers(input, low: int, high: int, often, return_inverse: bool, return_counts: bool):
    """Of integers so near to each other that each has a place: none is sorted. `often`: how often
    each from 0 on occurs, where that is known of all."""
    flat, size, places = input.reshape((-1,)), high - low + 1, None
    if often is not None:
        often = often._slice(0, low, high + 1)
    elif size <= CELLS and max(abs(low), abs(high)) < BOUND:
        often = flat._occurrences(low, size)._slice(0, 0, size)
    else:
        places = flat.to(int64) - low
        kind = int64 if return_counts else int32
        one, often = (places.new_full(n, k, dtype=kind) for n, k in (((), 1), ((size,), 0)))
        one = one.expand(places.layout.shape)
        join = often._scatter_add if return_counts else often._scatter
        often = join(places, one, 0, "unique")
    found = often.nonzero().squeeze(1)
    inverse = counts = None
    if return_inverse:
        places = flat.to(int64) - low if places is None else places
        number = (often != 0).cumsum(0) - 1
        inverse = number._index(places, 0).reshape(input.shape)
    if return_counts:
        counts = often.gather(0, found)
    return picked((found + low).to(input.dtype), inverse, counts, return_inverse, return_counts)


@composite(samples=None)
def unique_consecutive(input, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None):  # fmt: skip
    "The first of each run of equal elements; which run each is in, and how long the runs are."
    refuse(input, "unique_consecutive")
    if dim is not None:
        return of_slices(input, dim, return_inverse, return_counts, True)
    flat = input.reshape((-1,))
    if not flat.numel():
        empty = flat.new_zeros((0,), dtype=int64)
        return picked(flat, empty.reshape(input.shape), empty, return_inverse, return_counts)
    same = same_as_before(flat.detach(), 0)
    first, number, counts = runs(flat, same, return_inverse, return_counts)
    inverse = number.reshape(input.shape) if return_inverse else None
    return picked(flat.gather(0, first), inverse, counts, return_inverse, return_counts)
