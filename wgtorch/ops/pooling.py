"""Ops that fold windows of rows or of planes: the largest of each, or the mean."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from wgtorch.dtype import DType, int32, int64, uint8
from wgtorch.op import Facts, Map, Other, Pass, Structured, declare
from wgtorch.ops.branches import choose
from wgtorch.ops.ordering import extreme
from wgtorch.ops.pooled import Window
from wgtorch.ops.samples import apart, normal

GROUP, MAX_GROUPS = 64, 65535
FEW_TAPS = 64  # of a window, that the cpu goes through one by one


Pair = tuple[int, int]  # marks attributes that are pairs here


# The largest of each window


def best_of(input: np.ndarray, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """(values, places in the window) of the largest; NaN beats all, and the first of equals."""
    plane = np.ones((1, *input.shape[-2:]), bool)
    first = np.argmax(list(window.elements(plane, False)), axis=0)  # that is not padding
    values = lowest = extreme(input.dtype, largest=False)
    if window.size[0] * window.size[1] > FEW_TAPS:
        stack = np.stack(list(window.elements(input, lowest)))
        places = np.argmax(stack, axis=0)
        best = np.take_along_axis(stack, places[None], 0)[0]
        return best, np.where(best == lowest, first, places)
    places = np.broadcast_to(first.astype(place_dtype(window).np), window.out(input.shape))
    for place, element in enumerate(window.elements(input, lowest)):
        beats = ~(element <= values) & (values == values)
        places = choose(beats, places.dtype.type(place), places)
        values = np.maximum(values, element)
    return values, places


def place_dtype(window: Window) -> DType:
    return uint8 if window.size[0] * window.size[1] <= 256 else int32


def numbers(facts: Facts, names: str, big: tuple[int, ...], small: tuple[int, ...]) -> tuple:
    """What pooling shaders list behind `launch:`, by name."""
    window = Window(*[facts.attrs[n] for n in ("size", "step", "pad", "apart") if n in facts.attrs])
    known = {"height": big[-2], "width": big[-1], "out_height": small[-2], "out_width": small[-1]}
    pairs = {"size": window.size, "step": window.step, "pad": window.pad, "apart": window.apart}
    for name, (y, x) in pairs.items():
        known |= {f"{name}_y": y, f"{name}_x": x}
    known |= {"counts_pad": int(facts.attrs.get("counts_pad", 0))}
    known |= {"divisor": facts.attrs.get("divisor", 0)}
    return tuple([known[name] for name in names.split()])


def overlap(facts: Facts) -> dict[str, bool]:
    """What the text of the backward shaders depends on."""
    attrs = facts.attrs
    apart_ = attrs.get("apart", (1, 1))
    reach = [a * (n - 1) + 1 for a, n in zip(apart_, attrs["size"], strict=True)]
    overlaps = any(s < r for s, r in zip(attrs["step"], reach, strict=True))
    return {"OVERLAP": overlaps, "DILATED": apart_ != (1, 1)}


def padded(facts: Facts) -> dict[str, bool]:
    """Whether a window may reach over an end."""
    return {"PADDED": facts.attrs["pad"] != (0, 0) or facts.attrs["ceil"]}


SIZES = "height width out_height out_width "
WINDOW = "size_y size_x step_y step_x pad_y pad_x apart_y apart_x"
MEAN = SIZES + "size_y size_x step_y step_x pad_y pad_x counts_pad divisor"


def best_plan(facts: Facts) -> list[Pass]:
    quads = -(-facts.out.numel // 4)
    if not quads:
        return []
    more = numbers(facts, SIZES + WINDOW, facts.layouts[0].shape, facts.out.shape)
    head = (quads, facts.out.numel - 1)
    front = (f"const PADDED = {str(padded(facts)['PADDED']).lower()};",)
    return [
        Pass("max_pool.wgsl", groups(quads), (*head, *more), ("input",), ("_out", "places"), front,
             places=(("input", facts.layouts[0]),))
    ]  # fmt: skip


def windows(rng) -> Iterator[dict[str, Any]]:
    """Overlapping, with gaps, padded, dilated, reaching over the end."""
    yield {"size": (2, 2), "step": (2, 2), "pad": (0, 0), "apart": (1, 1), "ceil": False}
    yield {"size": (3, 2), "step": (2, 1), "pad": (1, 1), "apart": (1, 1), "ceil": False}
    yield {"size": (2, 3), "step": (3, 2), "pad": (1, 0), "apart": (2, 1), "ceil": True}


def pooled(rng):
    for attrs in windows(rng):
        yield (apart(rng, 2, 3, 7, 6),), attrs


def pooled_back(rng):
    for attrs in windows(rng):
        window = Window(*attrs.values())
        input = apart(rng, 3, 7, 6)
        out, places = best_of(input, window)
        attrs = {n: v for n, v in attrs.items() if n != "ceil"}
        yield (normal(rng, *out.shape), places.astype(np.uint8)), attrs | {"sizes": (7, 6)}


def picked(rng):
    for (_, places), attrs in pooled_back(rng):
        sizes = attrs.pop("sizes")
        yield (normal(rng, 3, *sizes), places), attrs


def back_plan(facts: Facts) -> list[Pass]:
    """Where windows tile the planes, a thread for each window; else one for four elements."""
    big, small = facts.out.shape, facts.layouts[0].shape
    if not facts.out.numel:
        return []
    places = (("grad_output", facts.layouts[0]), ("places", facts.layouts[1]))
    reads = ("grad_output", "places")
    attrs, dtype = facts.attrs, facts.out_dtypes[0]
    tiles = all(n == o * k for n, o, k in zip(big[-2:], small[-2:], attrs["size"], strict=True))
    alone = attrs["pad"] == (0, 0) and attrs["apart"] == (1, 1) and attrs["step"] == attrs["size"]
    if tiles and alone and dtype.itemsize >= 4:
        count = facts.layouts[0].numel
        more = numbers(facts, "out_width size_y size_x", big, small)
        return [Pass("max_pool_tiles.wgsl", groups(count), (count, *more), reads, places=places)]
    quads = -(-facts.out.numel // 4)
    more = (quads, facts.out.numel - 1, *numbers(facts, SIZES + WINDOW, big, small))
    front = tuple([f"const {name} = {str(on).lower()};" for name, on in overlap(facts).items()])
    return [Pass("max_pool_backward.wgsl", groups(quads), more, reads, front=front, places=places)]


def groups(count: int) -> tuple[int, int, int]:
    return (min(-(-count // GROUP), MAX_GROUPS), 1, 1)


@declare(
    Structured,
    by_first=True,
    shape=lambda grad_output, places, size, step, pad, apart, sizes: (*grad_output[:-2], *sizes),
    dtype=lambda grad_output, places, **attrs: grad_output,
    plan=back_plan,
    vjp={
        "grad_output": lambda grad, places, size, step, pad, apart: grad._max_pool_pick(
            places, size, step, pad, apart
        )
    },
    samples=pooled_back,
)
def _max_pool_backward(grad_output, places: Other, size: Pair, step: Pair, pad: Pair, apart: Pair,
                       sizes: Pair):  # fmt: skip
    "Each gradient put where the largest element of its window was."
    window, shape = Window(size, step, pad, apart), grad_output.shape
    if size[0] * size[1] > FEW_TAPS:
        out, flat = np.zeros((*shape[:-2], *sizes), grad_output.dtype), (-1, *shape[-2:])
        planes, _, _, y, x = placed(places, window)
        np.add.at(out.reshape(-1, *sizes), (planes, y, x), grad_output.reshape(flat))
        return out
    padded = np.zeros((*shape[:-2], *window.room(sizes, shape)), grad_output.dtype)
    zero = grad_output.dtype.type(0)
    for place, there in enumerate(window.spots(padded, shape)):
        there += choose(places == place, grad_output, zero)
    return window.inner(padded, sizes)


def placed(places: np.ndarray, window: Window) -> tuple[np.ndarray, ...]:
    """(plane, window row, window column, row, column) of every window's element."""
    flat = places.reshape(-1, *places.shape[-2:]).astype(np.int64)
    planes, oy, ox = np.indices(flat.shape)
    y = oy * window.step[0] - window.pad[0] + flat // window.size[1] * window.apart[0]
    x = ox * window.step[1] - window.pad[1] + flat % window.size[1] * window.apart[1]
    return planes, oy, ox, y, x  # type: ignore[return-value]


@declare(
    Map,
    by_first=True,
    shape=lambda input, places, size, step, pad, apart: places,
    dtype=lambda input, places, **attrs: input,
    shader="max_pool_pick.wgsl",
    numbers=lambda facts: numbers(
        facts, SIZES + WINDOW.replace("size_y ", ""), facts.layouts[0].shape, facts.out.shape
    ),
    places=lambda facts: {"input": facts.layouts[0], "places": facts.layouts[1]},
    vjp={
        "input": lambda grad, input_shape, places, size, step, pad, apart: grad._max_pool_backward(
            places, size, step, pad, apart, input_shape[-2:]
        )
    },
    samples=picked,
)
def _max_pool_pick(input, places: Other, size: Pair, step: Pair, pad: Pair, apart: Pair):
    "Of each window the element that `places` says."
    planes, _, _, y, x = placed(places, Window(size, step, pad, apart))
    return input.reshape(-1, *input.shape[-2:])[planes, y, x].reshape(places.shape)


@declare(
    Map,
    by_first=True,
    shape=lambda places, size, step, pad, apart, width: places,
    dtype=lambda places, **attrs: int64,
    shader="max_pool_indices.wgsl",
    numbers=lambda facts: (
        facts.attrs["width"],
        *numbers(facts, "out_height out_width size_x step_y step_x pad_y pad_x apart_y apart_x",
                 (0, 0), facts.out.shape),
    ),
    places=lambda facts: {"places": facts.layouts[0]},
    samples=lambda rng: [
        ((p,), {n: v for n, v in a.items() if n != "sizes"} | {"width": a["sizes"][1]})
        for (_, p), a in pooled_back(rng)
    ],
)  # fmt: skip
def _max_pool_indices(places: Other, size: Pair, step: Pair, pad: Pair, apart: Pair, width: int):
    "Where in its plane each window's largest element is."
    *_, y, x = placed(places, Window(size, step, pad, apart))
    return (y * width + x).reshape(places.shape)


@declare(
    Structured,
    by_first=True,
    shape=lambda input, size, step, pad, apart, ceil: (
        (Window(size, step, pad, apart, ceil).out(input),) * 2
    ),
    dtype=lambda input, size, **attrs: (input, place_dtype(Window(size, size, size))),
    outputs=("_out", "places"),
    plan=best_plan,
    vjp={
        "input": lambda grad, input_shape, places, size, step, pad, apart: grad._max_pool_backward(
            places, size, step, pad, apart, input_shape[-2:]
        )
    },
    samples=pooled,
)
def _max_pool(input, size: Pair, step: Pair, pad: Pair, apart: Pair, ceil: bool):
    "(largest, which of the window's elements that is) of each window."
    return best_of(input, Window(size, step, pad, apart, ceil))


@declare(
    Map,
    by_first=True,
    shape=lambda input, size, step, pad, apart, ceil: Window(size, step, pad, apart, ceil).out(
        input
    ),
    shader="max_pool_value.wgsl",
    constants=padded,
    numbers=lambda facts: numbers(facts, SIZES + WINDOW, facts.layouts[0].shape, facts.out.shape),
    places=lambda facts: {"input": facts.layouts[0]},
    samples=pooled,
)
def _max_pool_value(input, size: Pair, step: Pair, pad: Pair, apart: Pair, ceil: bool):
    "The largest of each window, where nothing is differentiated."
    window = Window(size, step, pad, apart, ceil)
    return reduce(np.maximum, window.elements(input, extreme(input.dtype, largest=False)))


# The mean of each window


def mean_windows(rng) -> Iterator[dict[str, Any]]:
    for attrs in windows(rng):
        if attrs["apart"] == (1, 1):
            del attrs["apart"]
            yield attrs | {"counts_pad": attrs["pad"] == (0, 0), "divisor": 0}
    yield {"size": (3, 3), "step": (2, 2), "pad": (1, 1), "ceil": True, "counts_pad": True,
           "divisor": 0}  # fmt: skip
    yield {"size": (2, 2), "step": (1, 2), "pad": (0, 1), "ceil": True, "counts_pad": False,
           "divisor": 3}  # fmt: skip


def divisors(shape: tuple[int, ...], window: Window, counts_pad: bool, divisor: int) -> Any:
    """What the sum of each window is divided by."""
    if divisor:
        return float(divisor)
    ends = []
    for axis, (o, n) in enumerate(zip(window.out(shape)[-2:], shape[-2:], strict=True)):
        pad, begins = window.pad[axis], np.arange(o) * window.step[axis] - window.pad[axis]
        stops = np.minimum(begins + window.size[axis], n + pad)
        if not counts_pad:
            begins, stops = np.maximum(begins, 0), np.minimum(stops, n)
        ends.append(stops - begins)
    return ends[0][:, None] * ends[1][None, :]


@declare(
    Map,
    by_first=True,
    shape=lambda grad_output, size, step, pad, ceil, counts_pad, divisor, sizes: (
        (*grad_output[:-2], *sizes)
    ),
    shader="avg_pool_backward.wgsl",
    numbers=lambda facts: numbers(facts, MEAN, facts.out.shape, facts.layouts[0].shape),
    places=lambda facts: {"grad_output": facts.layouts[0]},
    vjp={
        "grad_output": lambda grad, size, step, pad, ceil, counts_pad, divisor: grad._avg_pool(
            size, step, pad, ceil, counts_pad, divisor
        )
    },
    samples=lambda rng: [
        ((normal(rng, *Window(a["size"], a["step"], a["pad"], ceil=a["ceil"]).out((3, 7, 6))),),
         a | {"sizes": (7, 6)})
        for a in mean_windows(rng)
    ],
)  # fmt: skip
def _avg_pool_backward(grad_output, size: Pair, step: Pair, pad: Pair, ceil: bool, counts_pad: bool,
                       divisor: int, sizes: Pair):  # fmt: skip
    "Each gradient shared among the elements of its window."
    window, shape = Window(size, step, pad, (1, 1), ceil), (1, *sizes)
    share = grad_output / divisors(shape, window, counts_pad, divisor)
    padded = np.zeros((*share.shape[:-2], *window.room(sizes, share.shape)), share.dtype)
    for there in window.spots(padded, share.shape):
        there += share
    return window.inner(padded, shape)


@declare(
    Map,
    by_first=True,
    shape=lambda input, size, step, pad, ceil, counts_pad, divisor: Window(
        size, step, pad, ceil=ceil
    ).out(input),
    shader="avg_pool.wgsl",
    numbers=lambda facts: numbers(facts, MEAN, facts.layouts[0].shape, facts.out.shape),
    places=lambda facts: {"input": facts.layouts[0]},
    vjp={
        "input": lambda grad, input_shape, size, step, pad, ceil, counts_pad, divisor: (
            grad._avg_pool_backward(size, step, pad, ceil, counts_pad, divisor, input_shape[-2:])
        )
    },
    samples=lambda rng: [((normal(rng, 2, 3, 7, 6),), attrs) for attrs in mean_windows(rng)],
)
def _avg_pool(input, size: Pair, step: Pair, pad: Pair, ceil: bool, counts_pad: bool,
              divisor: int):  # fmt: skip
    "The mean of each window."
    window = Window(size, step, pad, (1, 1), ceil)
    return sum(window.elements(input, 0)) / divisors(input.shape, window, counts_pad, divisor)
