"""Spreading gives the sums of a convolution back to what its windows saw: its gradient, and what a
transposed convolution is.

With stride 1 that is a convolution too, its window turned around. With a larger stride, elements
fall into phases by which taps can have met them; within a phase it is again a convolution, of
those taps alone. Where this is not to be had, conv_spread.wgsl asks of every tap whether it met.
"""

from __future__ import annotations

from itertools import product as pairs
from math import prod
from typing import NamedTuple

from wgtorch.dtype import float32
from wgtorch.layout import Layout
from wgtorch.op import Facts, Pass
from wgtorch.ops.few_channels import given_back, suits
from wgtorch.ops.product import MAX_GROUPS, Product, Result, launched
from wgtorch.ops.readers import FLOATS, Matrix, Reader, strided
from wgtorch.ops.windows import (
    WORD,
    Window,
    alone,
    biased,
    by_element,
    convolved,
    counted,
    flat_taps,
    images,
    nested,
    two,
)
from wgtorch.record import replace

WORTH_PASSES = {True: 1 << 20, False: 1 << 26}  # multiplications, on software and on hardware


class Phase(NamedTuple):
    """Along one axis, every `step`-th element from `first` on, `elements` of them, and the taps
    that meet those: every `step`-th from `tap` on, `taps` of them."""

    first: int
    elements: int
    step: int
    tap: int
    taps: int
    padding: int  # of the window over the sums
    dilation: int


def phases(size: int, kernel: int, stride: int, padding: int, dilation: int) -> list[Phase] | None:
    if stride == 1:
        reach = dilation * (kernel - 1)
        return [Phase(0, size, 1, 0, kernel, reach - padding, dilation)]
    if dilation > 1:
        return None
    found = []
    for tap in range(stride):
        taps = -(-max(0, kernel - tap) // stride)
        first = (tap - padding) % stride
        count = -(-max(0, size - first) // stride)
        before = taps - 1 - (first + padding - tap) // stride
        found.append(Phase(first, count, stride, tap, taps, before, 1))
    return found


def spread_plan(facts: Facts) -> list[Pass] | None:
    if facts.out_dtypes[0] not in FLOATS:
        return None
    if not facts.out.numel:
        return []
    _, weight, bias = facts.layouts
    window = Window.of(weight.shape[2:], facts.attrs)
    work = facts.out.numel * (weight.shape[0] // facts.attrs["groups"]) * window.taps
    if window.stride == (1, 1) and alone(facts):
        down, across = two(weight.strides[2:], 0)
        last = (window.kernel[0] - 1) * down + (window.kernel[1] - 1) * across
        steps = (weight.offset + last, *weight.strides[:2], -down, -across)
        return [by_element(facts, window.turned, steps)]
    worth = work >= WORTH_PASSES[facts.traits.is_software]
    passes = apart(facts, window) if worth else None
    if passes:
        return passes
    if suits(facts, window):
        return [given_back(facts, window)]
    if window.stride == (1, 1) and not worth:
        return gathered(facts, window, turned=True)
    size = two(facts.out.shape[2:], 1)
    each = [
        phases(*axis)
        for axis in zip(size, window.kernel, window.stride, window.padding, window.dilation,
                        strict=True)
    ]  # fmt: skip
    if not worth or any(axis is None for axis in each):
        return gathered(facts, window, turned=False)
    crossed = list(pairs(*each))
    unmet = any(not down.taps or not across.taps for down, across in crossed)
    if (unmet and bias is not None) or (len(crossed) > 1 and facts.out_dtypes[0] is not float32):
        return gathered(facts, window, turned=False)
    passes = [p for down, across in crossed for p in in_phase(facts, down, across)]
    if unmet and passes:
        passes[0] = replace(passes[0], clear=("result",))
    return passes or gathered(facts, window, turned=False)


# All taps at once


def gathered(facts: Facts, window: Window, turned: bool) -> list[Pass]:
    """In a single pass."""
    input, weight, bias = facts.layouts
    groups, dtype = facts.attrs["groups"], facts.out_dtypes[0]
    taps, rows, sums = flat_taps(weight), weight.shape[1], weight.shape[0] // groups
    steps = {"batch": sums * taps.strides[0], "step": taps.strides[1]}
    steps |= {"far": taps.strides[0], "near": taps.strides[2]}
    start, count = taps.offset, window.taps
    if turned:
        start, steps["near"] = start + (count - 1) * steps["near"], -steps["near"]
        y = images("input", dtype, input, groups, "conv_windows.wgsl", "const TAPS_DOWN = true;")
        window = window.turned
    else:
        y = images("input", dtype, input, groups, "conv_spread.wgsl")
        rest = counted("stride_row", window.stride[0]) | counted("stride_col", window.stride[1])
        y = replace(y, numbers=y.numbers | rest)
    x = nested("weight", dtype, start, steps, count)
    return convolved(facts, x, y, window, rows, sums * count, biased(facts, bias, rows))


# Windows beside each other

BESIDE = (
    """fn place_of(z: u32, row: u32, col: u32) -> u32 {
    let down = quotient(col, launch.pixels_across, launch.pixels_across_inverse);
    let channel = quotient(row, launch.taps, launch.taps_inverse);
    let tap = row - channel * launch.taps;
    let tap_down = quotient(tap, launch.taps_across, launch.taps_across_inverse);
    let tap_across = tap - tap_down * launch.taps_across;
    let line = (z * (launch.m / launch.taps) + channel) * (launch.pixels * launch.taps);
    return line + (down * launch.stride_row + tap_down) * launch.pixels_across * launch.stride_col
        + (col - down * launch.pixels_across) * launch.stride_col + tap_across;
}""",
)


def apart(facts: Facts, window: Window) -> list[Pass] | None:
    """Where windows lie beside each other, without gaps: one product for each image, whose rows are
    what a sum gives to each channel and tap."""
    input, weight, bias = facts.layouts
    groups, dtype = facts.attrs["groups"], facts.out_dtypes[0]
    channels, rows = weight.shape[1], weight.shape[1] * window.taps
    sums = weight.shape[0] // groups
    pixels, points = two(input.shape[2:], 1), flat_taps(input)
    flat = weight.reshape((weight.shape[0], rows))
    size = tuple(n * s for n, s in zip(pixels, window.stride, strict=True))
    beside = window.kernel == window.stride and window.padding == (0, 0)
    if not beside or size != two(facts.out.shape[2:], 1) or dtype is not float32:
        return None
    if window.taps == 1 or points is None or flat is None:
        return None
    matrix = Matrix(flat.offset, 0, sums * flat.strides[0], flat.strides[1], flat.strides[0])
    batches = (input.shape[0] * groups, groups)
    x = strided("x", 0, "weight", dtype, matrix, (rows, sums), batches)
    image, channel, pixel = points.strides
    matrix = Matrix(points.offset, image, sums * channel, pixel, channel)
    y = strided("y", 1, "input", dtype, matrix, (prod(pixels), sums), batches)
    addend = biased(facts, bias, channels)
    if addend:
        numbers = addend.numbers | {"z_near": addend.numbers["z_far"], "z_far": 0}
        addend = replace(addend, numbers=numbers, rows=window.taps)
    places = tuple(window.numbers(pixels).items())
    result = Result(float32, False, False, addend, BESIDE, places, True)
    product = Product(rows, prod(pixels), sums, *batches, x, y, result, facts.out.numel)
    return product.passes(facts.traits)


# Phase by phase


def in_phase(facts: Facts, down: Phase, across: Phase) -> list[Pass]:
    """Two passes: the weight turned, and the product."""
    if not all((down.elements, down.taps, across.elements, across.taps)):
        return []
    input, weight, bias = facts.layouts
    groups, dtype = facts.attrs["groups"], facts.out_dtypes[0]
    rows, sums = weight.shape[1], weight.shape[0] // groups
    kernel = (down.taps, across.taps)
    k = sums * prod(kernel)
    matrix = Matrix(0, rows * k, 0, k, 1)
    x = strided("x", 0, "turned", float32, matrix, (rows, k), (groups, 1))
    y = images("input", dtype, input, groups, "conv_windows.wgsl", "const TAPS_DOWN = true;")
    window = Window(
        kernel, (1, 1), (down.padding, across.padding), (down.dilation, across.dilation)
    )
    addend = biased(facts, bias, rows)
    if down.step == across.step == 1:
        product = convolved(facts, x, y, window, rows, k, addend)
    else:
        product = scattered(facts, x, y, window, (rows, k), (down, across), addend)
    return [turn(facts, weight, down, across, k), *product]


def turn(facts: Facts, weight: Layout, down: Phase, across: Phase, k: int) -> Pass:
    """The taps of a phase, last first."""
    groups, rows = facts.attrs["groups"], weight.shape[1]
    step_down, step_across = two(weight.strides[2:], 0)
    last = [p.tap + p.step * (p.taps - 1) for p in (down, across)]
    start = weight.offset + last[0] * step_down + last[1] * step_across
    count = groups * rows * k
    numbers: dict[str, float] = {
        "count": count, "m": rows, "k": k, "taps": down.taps * across.taps,
        "taps_across": across.taps, "x_offset": start,
        "x_group": weight.shape[0] // groups * weight.strides[0], "x_step": weight.strides[1],
        "x_far": weight.strides[0], "x_down": -down.step * step_down & WORD,
        "x_across": -across.step * step_across & WORD,
    }  # fmt: skip
    grid = (min(-(-count // 64), MAX_GROUPS), 1, 1)
    temps = (("turned", float32, count),)
    return launched("conv_turn.wgsl", grid, numbers, ["weight"], "turned", [], temps)


SCATTERED = (
    """fn place_of(z: u32, row: u32, col: u32) -> u32 {
    let image = quotient(col, launch.pixels, launch.pixels_inverse);
    let inside = col - image * launch.pixels;
    let down = quotient(inside, launch.pixels_across, launch.pixels_across_inverse);
    let across = inside - down * launch.pixels_across;
    let channel = (image * launch.batches + z) * launch.m + row;
    return channel * launch.r_image + launch.r_first + down * launch.r_down
        + across * launch.r_across;
}""",
)


def scattered(
    facts: Facts, x: Reader, y: Reader, window: Window, sizes: tuple[int, int],
    phase: tuple[Phase, Phase], addend,
) -> list[Pass]:  # fmt: skip
    """The product whose columns are the pixels of a phase, stored `step` apart."""
    (rows, k), (down, across) = sizes, phase
    size = two(facts.out.shape[2:], 1)
    pixels = (down.elements, across.elements)
    places: dict[str, float] = {
        "r_image": prod(size), "r_first": down.first * size[1] + across.first,
        "r_down": down.step * size[1], "r_across": across.step,
    }  # fmt: skip
    y = replace(y, numbers=y.numbers | window.numbers(pixels))
    result = Result(float32, False, False, addend, SCATTERED, tuple(places.items()), True)
    cols = facts.out.shape[0] * prod(pixels)
    groups = facts.attrs["groups"]
    return Product(rows, cols, k, groups, 1, x, y, result, facts.out.numel).passes(facts.traits)
