"""Masks: where a condition holds, and the elements there.

How many there are is data, so these ops wait for the GPU once: it counts chunk by chunk, the total
travels to the host, and with its size known the list of places is written.
"""

from __future__ import annotations

from math import inf, prod

import numpy as np

from wgtorch.dtype import bool_, int32, int64
from wgtorch.layout import Layout, broadcast, row_major
from wgtorch.op import Condition, Facts, Index, Map, Other, Pass, Structured, composite, declare
from wgtorch.ops.batched import (
    SELECT,
    STATIC,
    each_sample,
    is_batched,
    refuse,
    refuse_mask,
)
from wgtorch.ops.samples import bools, normal
from wgtorch.record import replace

GROUP, MAX_GROUPS = 256, 65535
CHUNK, FAN = 64, 128  # elements to a count, counts to a count of the next section
OWN, TURNS = 8, 4  # elements of a thread at a time, and how often, where workgroups have chunks


def sections(numel: int) -> list[int]:
    """How many counts there are of each level; the last is the total."""
    sizes = [max(1, -(-numel // CHUNK))]
    while len(sizes) == 1 or sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FAN))
    return sizes


def chunks(facts: Facts, numel: int) -> tuple[int, int]:
    """(elements to a count: of a thread where barriers are dear, else of a workgroup; how many
    counts)."""
    chunk = CHUNK if facts.traits.is_software else GROUP * OWN * TURNS
    return chunk, max(1, -(-numel // chunk))


def stepped(shader: str, count: int, *numbers: int, reads=(), writes=("counts",), places=()):
    """A pass with a thread for each of `count`."""
    groups = (min(-(-count // GROUP), MAX_GROUPS), 1, 1)
    front = ("elementwise.wgsl",)
    return Pass(shader, groups, (count, *numbers), reads, writes, front, places=places)


def count_plan(facts: Facts) -> list[Pass]:
    layout = facts.layouts[0]
    places = (("input", layout),)
    chunk, count = chunks(facts, layout.numel)
    if chunk != CHUNK:
        groups = (min(count, MAX_GROUPS), 1, 1)
        numbers = (count, layout.numel, chunk)
        return [
            Pass("count_chunks_groups.wgsl", groups, numbers, ("input",), ("counts",),
                 places=places),
            Pass("start_chunks_groups.wgsl", (1, 1, 1), (count,), (), ("counts", "total")),
        ]  # fmt: skip
    sizes = sections(layout.numel)
    starts = np.cumsum([0, *sizes]).tolist()
    steps = [stepped("count_chunks.wgsl", count, layout.numel, chunk, reads=("input",),
                     places=places)]  # fmt: skip
    levels = [
        (sizes[k + 1], (sizes[k], FAN, starts[k], starts[k + 1])) for k in range(len(sizes) - 1)
    ]
    steps += [stepped("sum_chunks.wgsl", count, *numbers) for count, numbers in levels]
    for count, numbers in reversed(levels):
        top = int(numbers[-1] == starts[-2])
        steps.append(stepped("start_chunks.wgsl", count, *numbers, top, writes=("counts", "total")))
    return steps


@declare(
    Structured,
    shape=lambda input: ((sum(sections(prod(input))),), (1,)),
    dtype=lambda input: (int32, int32),
    outputs=("counts", "total"),
    plan=count_plan,
    promotes=False,
    torch="none",
    tolerance=inf,  # the reference knows of no chunks
    complex=True,
)
def _true_counts(input: Condition):
    """(where the share of each chunk starts in the list of elements that are not zero, which only a
    GPU needs to know; how many there are)."""
    starts = np.zeros(sum(sections(input.size)), np.int32)
    return starts, np.asarray([np.count_nonzero(input)], np.int32)


def listing(leave: str):
    """The plan that lists, for each element where the mask holds, what `leave` says of element i;
    the mask and where the chunks start in the list are the last of its inputs."""

    def plan(facts: Facts) -> list[Pass]:
        *others, mask, _ = facts.layouts
        if not facts.out.numel:
            return []
        chunk, count = chunks(facts, mask.numel)
        reads = (*["input" for _ in others], "mask", "starts")
        places = (*[("input", layout) for layout in others], ("mask", mask),
                  ("starts", Layout.contiguous((count,))))  # fmt: skip
        said = f"fn leave(place: u32, i: u32) {{ set_result(place, {leave}); }}"
        if chunk == CHUNK:
            step = stepped("true_places.wgsl", count, mask.numel, chunk, reads=reads,
                           writes=("result",), places=places)  # fmt: skip
            return [replace(step, front=(*step.front, said))]
        front = (f"const OWN = {OWN}u;", f"const TURNS = {TURNS}u;", said)
        return [Pass("true_places_groups.wgsl", (min(count, MAX_GROUPS), 1, 1),
                     (count, mask.numel, chunk), reads, front=front, places=places)]  # fmt: skip

    return plan


@declare(
    Structured,
    shape=lambda mask, starts, total: (total,),
    dtype=lambda mask, starts, total: int64,
    plan=listing("result_of(i32(i))"),
    promotes=False,
    torch="none",
    complex=True,
)
def _true_places(mask: Condition, starts: Other, total: int):
    "The places, counted row by row, of the elements that are not zero."
    return np.flatnonzero(mask)


def true_elements_grad(grad, input_shape, mask, starts, total):
    places = mask._true_places(starts, total)
    flat = grad.new_zeros((prod(input_shape),))
    return flat._index_put(places, grad, 0, "masked_select").reshape(input_shape)


@declare(
    Structured,
    shape=lambda input, mask, starts, total: (total,),
    dtype=lambda input, mask, starts, total: input,
    plan=listing("input_nth(i)"),
    vjp={"input": true_elements_grad},
    promotes=False,
    torch="none",
    complex=True,
)
def _true_elements(input, mask: Condition, starts: Other, total: int):
    "The elements where a mask of the same shape is not zero, row by row."
    return input[mask]


def counted(mask):
    """(how many elements are not zero, what the ops that list them want to know)."""
    counts, total = mask._true_counts()
    return int(total.item()), counts


@composite(samples=None)
def _places(input):
    "Where the input, seen as one dimension, is not zero."
    input = input.detach()
    total, counts = counted(input)
    return input._true_places(counts, total)


@composite(samples=None)
def _chosen(input, mask):
    "The elements where a mask of the same shape holds."
    mask = mask.detach()
    total, counts = counted(mask)
    return input._true_elements(mask, counts, total)


def nonzero_samples(rng):
    yield (bools(rng, 3, 4),), {}
    yield (rng.integers(-1, 2, (2, 3, 4)).transpose(2, 0, 1),), {}
    yield (normal(rng, 300) * bools(rng, 300),), {}


def column_numbers(shape: tuple[int, ...]) -> tuple[int, ...]:
    sizes, rest = [max(n, 1) for n in shape], [1] * (MOST_DIMS - len(shape))
    return (len(shape), *sizes, *rest, *row_major(sizes), *rest)


@declare(
    Map,
    shader="columns.wgsl",
    shape=lambda input, shape: (*input, len(shape)),
    dtype=lambda input, shape: int64,
    numbers=lambda facts: column_numbers(facts.attrs["shape"]),
    places=lambda facts: {"input": facts.layouts[0]},
    promotes=False,
    samples=lambda rng: [
        ((rng.integers(0, 60, 7), (3, 4, 5)), {}),
        ((rng.integers(0, 6, 5), (2, 3)), {}),
    ],
    torch="none",
)
def _columns(input: Index, shape: tuple):
    "An index for each dimension of `shape`, side by side, from places counted row by row."
    if not input.size:
        return np.zeros((0, len(shape)), np.int64)
    return np.stack(np.unravel_index(input, shape), 1)


MOST_DIMS = 8  # that a mask on a GPU may have


def beside(places, shape: tuple[int, ...]):
    """A row of indices for each place."""
    if len(shape) == 1:
        return places.unsqueeze(1)
    if len(shape) > MOST_DIMS and not places.is_cpu:
        raise RuntimeError(f"nonzero: {len(shape)} dimensions; on a GPU there may be {MOST_DIMS}")
    return places._columns(shape)


def columns(places, shape: tuple[int, ...]) -> list:
    """An index for each dimension, from places counted row by row."""
    return list(beside(places, shape).unbind(1)) if len(shape) > 1 else [places]


@composite(samples=nonzero_samples)
def nonzero(input, *, as_tuple: bool = False):
    """Where the input is not zero: a row of indices for each such element.

    With `as_tuple` an index for each dimension, so that `x[x.nonzero(as_tuple=True)]` are those
    elements. Waits for the GPU.
    """
    refuse(input, "nonzero", STATIC)
    if as_tuple:
        input = input if input.ndim else input.unsqueeze(0)
        return tuple(columns(input._places(), input.layout.shape))
    places = input._places()
    if not input.ndim:
        return places.new_zeros((places.layout.numel, 0))
    return beside(places, input.layout.shape)


@composite(
    samples=lambda rng: [
        ((rng.integers(0, 2, (3, 4)),), {"size": 3}),
        ((bools(rng, 3, 4),), {"size": 15, "fill_value": -7}),
    ]
)
def nonzero_static(input, *, size: int, fill_value: int = -1):
    "The first `size` rows of `nonzero`; where it has fewer, rows of `fill_value` follow."
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if is_batched(input):
        again = lambda x: x.nonzero_static(size=size, fill_value=fill_value)  # noqa: E731
        return each_sample("nonzero_static", again, input)
    found = input.nonzero()._slice(0, 0, size)
    return found.constant_pad_nd((0, 0, 0, size - found.layout.shape[0]), fill_value)


@composite(samples=nonzero_samples)
def argwhere(input):
    "As `nonzero`."
    if is_batched(input):
        return each_sample("argwhere", lambda x: x.argwhere(), input)
    return input.nonzero()


@composite(
    apart="all",
    samples=lambda rng: [
        ((normal(rng, 3, 4), bools(rng, 3, 4)), {}),
        ((normal(rng, 3, 4), bools(rng, 4)), {}),
        ((normal(rng, 4, 3).T, bools(rng, 2, 3, 4)), {}),
    ],
)
def masked_select(input, mask):
    "The elements where `mask` (bool, broadcast with the input) holds, in one dimension. Waits."
    if mask.dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    refuse_mask(mask, SELECT)
    shape = broadcast(input.layout.shape, mask.layout.shape)
    return input.expand(shape)._chosen(mask.expand(shape))


@composite(
    inplace=True,
    takes_over=True,
    samples=lambda rng: [
        ((normal(rng, 3, 4), bools(rng, 3, 4), normal(rng, 12)), {}),
        ((normal(rng, 3, 4), bools(rng, 4), normal(rng, 4, 4)), {}),
    ],
)
def masked_scatter(input, mask, source):
    "The input, with the first elements of `source` where `mask` (bool, broadcast) holds. Waits."
    if mask.dtype is not bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype"
            f" {mask.dtype.short}"
        )
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got"
            f" {input.dtype.short} and {source.dtype.short}"
        )
    shape = broadcast(input.layout.shape, mask.layout.shape)
    if is_batched(mask):
        nth = mask.expand(shape).reshape((-1,)).cumsum(0) - 1
        chosen = source.reshape((-1,))._index(nth, 0).reshape(shape)
        return chosen.where(mask, input)
    places = mask.expand(shape)._places()
    if places.layout.numel > source.layout.numel:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    chosen = source.reshape((-1,))._slice(0, 0, places.layout.numel)
    flat = input.expand(shape).reshape((-1,))
    return flat._index_put(places, chosen, 0, "masked_scatter").reshape(shape)
