"""A Window moves over images: how a GPU computes convolutions as Products.

Rows of the product are channels. Its columns are the places of windows (of all images, one after
the other), or the taps of a weight; they are gathered while the product runs, so nothing is
unfolded in memory. Groups are the batches. One dimension is two of which one is a single row.
"""

from __future__ import annotations

from math import prod

import numpy as np

from wgtorch.dtype import DType
from wgtorch.layout import Layout
from wgtorch.op import Facts, Pass
from wgtorch.ops.dense import Side, Sum, arithmetic, dense
from wgtorch.ops.product import MAX_GROUPS, Addend, Product, Result, eight_as_one, launched
from wgtorch.ops.readers import FLOATS, Matrix, Reader, along, functions, loader, strided
from wgtorch.record import Record, replace

WORD = 0xFFFFFFFF  # negative numbers travel as they wrap


def flat_taps(layout: Layout) -> Layout | None:
    """(a, b, *taps) with the taps as one axis, if they lie one stride apart."""
    shape = layout.shape
    return layout.reshape((*shape[:2], prod(shape[2:]))) if layout.numel else layout


class Window(Record):
    """The geometry, always of two dimensions."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    @classmethod
    def of(cls, kernel: tuple[int, ...], attrs: dict) -> Window:
        return cls(
            two(kernel, 1), two(attrs["stride"], 1), two(attrs["padding"], 0),
            two(attrs["dilation"], 1),
        )  # fmt: skip

    @property
    def taps(self) -> int:
        return prod(self.kernel)

    @property
    def points(self) -> bool:
        """Whether it sees one element at a time, and all of them."""
        return self.kernel == (1, 1) and self.stride == (1, 1) and self.padding == (0, 0)

    @property
    def turned(self) -> Window:
        """Of stride 1: the window that spreads what this one gathered."""
        reach = [d * (k - 1) for k, d in zip(self.kernel, self.dilation, strict=True)]
        padding = tuple(r - p for r, p in zip(reach, self.padding, strict=True))
        return Window(self.kernel, self.stride, padding, self.dilation)  # type: ignore[arg-type]

    def numbers(self, pixels: tuple[int, int]) -> dict[str, float]:
        """Fields of `launch`, for so many places (or elements) of an image."""
        count, across = prod(pixels), pixels[1]
        return {
            **counted("pixels", count), **counted("pixels_across", across),
            **counted("taps", self.taps), **counted("taps_across", self.kernel[1]),
            **axes("stride", self.stride), **axes("padding", self.padding),
            **axes("dilation", self.dilation),
        }  # fmt: skip


def two(values: tuple[int, ...], filling: int) -> tuple[int, int]:
    values = tuple(values)
    return values if len(values) == 2 else (filling, *values)  # type: ignore[return-value]


def counted(name: str, count: int) -> dict[str, float]:
    """A number that is divided by, and its inverse."""
    return {name: count, f"{name}_inverse:f32": float(np.float32(1) / np.float32(count))}


def axes(name: str, values: tuple[int, int]) -> dict[str, float]:
    return {f"{name}_row": values[0] & WORD, f"{name}_col": values[1] & WORD}


# Sides of the products


def images(buffer: str, dtype: DType, layout: Layout, groups: int, file: str, *front: str):
    """y: images (n, c, *size), gathered as the shader file says."""
    channels = layout.shape[1] // groups
    size, steps = two(layout.shape[2:], 1), two(layout.strides[2:], 0)
    numbers: dict[str, float] = {
        "y_offset": layout.offset, "y_group": channels * layout.strides[1],
        "y_image": layout.strides[0], "y_channel": layout.strides[1], "y_row": steps[0],
        "y_col": steps[1], "height": size[0], "width": size[1],
    }  # fmt: skip
    return Reader(buffer, (loader("y", 1, dtype, False), *front, file), numbers, False, True)


def nested(buffer: str, dtype: DType, start: int, steps: dict[str, int], inner: int) -> Reader:
    """x: rows `step` apart, along k `near` apart, `far` after each `inner`; groups `batch`."""
    moves = [start, *(steps[n] for n in ("batch", "step", "far"))]
    fours = steps["near"] == 1 and not any(n % 4 for n in (*moves, inner))
    place = (
        "return launch.x_offset + batch * launch.x_batch + min(i, launch.m - 1u) * launch.x_step;"
    )
    if fours:
        quad = "return x_load4(place + nested(k));"
        edge = (
            "return select(vec4f(), x_load4(place + nested(min(k, launch.k - 4u))), k < launch.k);"
        )
    else:
        each = ", ".join(f"x_load(place + nested(k + {j}u))" for j in range(4))
        quad = f"return vec4f({each});"
        last = "min(k + {j}u, last)"
        each = ", ".join(
            f"select(0.0, x_load(place + nested({last.format(j=j)})), k + {j}u <= last)"
            for j in range(4)
        )
        edge = f"let last = launch.k - 1u;\n    return vec4f({each});"
    front = (
        loader("x", 0, dtype, fours), along("x", True), NESTED,
        functions("x", "u32", place, quad, edge),
    )  # fmt: skip
    numbers: dict[str, float] = {"x_offset": start & WORD, **counted("x_inner", inner)}
    numbers |= {f"x_{name}": value & WORD for name, value in steps.items()}
    return Reader(buffer, front, numbers, True)


NESTED = """fn nested(k: u32) -> u32 {
    let far = quotient(k, launch.x_inner, launch.x_inner_inverse);
    return far * launch.x_far + (k - far * launch.x_inner) * launch.x_near;
}"""

# Results (n, g * m, *size) of the products: row m of batch g, column (image, pixel)
PLACES = (
    """fn place_of(z: u32, row: u32, col: u32) -> u32 {
    let image = quotient(col, launch.pixels, launch.pixels_inverse);
    let channel = (image * launch.batches + z) * launch.m + row;
    return channel * launch.pixels + col - image * launch.pixels;
}""",
    """fn origin(i: u32) -> vec3u {
    let channel = i / launch.pixels;
    let image = channel / launch.m / launch.batches;
    let group = channel / launch.m % launch.batches;
    return vec3u(group, channel % launch.m, i % launch.pixels + image * launch.pixels);
}""",
)


def biased(facts: Facts, bias: Layout | None, rows: int) -> Addend | None:
    """The bias of each channel."""
    if bias is None:
        return None
    step = bias.strides[0]
    numbers: dict[str, float] = {"z_offset": bias.offset, "z_far": rows * step, "z_near": 0}
    return Addend("bias", facts.out_dtypes[0], False, numbers | {"z_row": step, "z_col": 0})


# The plans


def window_plan(facts: Facts) -> list[Pass] | None:
    """Sums of what windows see."""
    input, weight, bias = facts.layouts
    groups, dtype, out = facts.attrs["groups"], facts.out_dtypes[0], facts.out
    if not out.numel:
        return []
    window = Window.of(weight.shape[2:], facts.attrs)
    if dtype not in FLOATS or alone(facts):
        start = (weight.offset, *weight.strides[:2], *two(weight.strides[2:], 0))
        return [by_element(facts, window, start)]
    rows = out.shape[1] // groups
    k = weight.shape[1] * window.taps
    flat = weight.reshape((weight.shape[0], k))
    if window.points and groups == 1 and flat and prod(out.shape[2:]) >= 64:
        points = flat_taps(input)
        if points:
            return by_points(facts, points, flat, bias)
    gathered = images("input", dtype, input, groups, "conv_windows.wgsl", "const TAPS_DOWN = true;")
    if flat:
        step = flat.strides[0]
        matrix = Matrix(flat.offset, rows * step, 0, step, flat.strides[1])
        x = strided("x", 0, "weight", dtype, matrix, (rows, k), (groups, 1))
    else:
        taps = flat_taps(weight)
        steps = {"batch": rows * taps.strides[0], "step": taps.strides[0]}
        steps |= {"far": taps.strides[1], "near": taps.strides[2]}
        x = nested("weight", dtype, taps.offset, steps, window.taps)
    return convolved(facts, x, gathered, window, rows, k, biased(facts, bias, rows))


def convolved(
    facts: Facts, x: Reader, y: Reader, window: Window, rows: int, k: int, bias: Addend | None
) -> list[Pass]:
    """The product whose columns are all pixels of the result, image after image."""
    out, groups = facts.out, facts.attrs["groups"]
    pixels = two(out.shape[2:], 1)
    y = replace(y, numbers=y.numbers | window.numbers(pixels))
    fields = tuple(counted("pixels", prod(pixels)).items())
    result = Result(facts.out_dtypes[0], prod(pixels) % 4 == 0, False, bias, PLACES, fields)
    cols = out.shape[0] * prod(pixels)
    return Product(rows, cols, k, groups, 1, x, y, result, out.numel).passes(facts.traits)


def by_points(facts: Facts, points: Layout, flat: Layout, bias: Layout | None) -> list[Pass]:
    """Windows of one element: a plain product for each image (n, c, points)."""
    dtype, (rows, k) = facts.out_dtypes[0], flat.shape
    count = points.shape[0]
    batch = flat.reshape((1, rows, k)).expand((count, rows, k))
    shape = (count, rows, points.shape[2])
    sum = None
    if bias is not None:
        sum = Sum(Side("bias", dtype, bias.reshape((1, rows, 1)).expand(shape)))
    return dense(facts, Side("weight", dtype, batch), Side("input", dtype, points), sum)


def weight_plan(facts: Facts) -> list[Pass] | None:
    """For each tap, the sum over all places of what it saw times what came of it."""
    input, other = facts.layouts
    groups, dtype = facts.attrs["groups"], facts.out_dtypes[0]
    if dtype not in FLOATS:
        return None
    if not facts.out.numel:
        return []
    window = Window.of(facts.attrs["kernel_size"], facts.attrs)
    pixels = two(other.shape[2:], 1)
    sums = flat_taps(other)
    rows, cols = other.shape[1] // groups, input.shape[1] // groups * window.taps
    steps = {"batch": rows * sums.strides[1], "step": sums.strides[1]}
    steps |= {"far": sums.strides[0], "near": sums.strides[2]}
    x = nested("other", dtype, sums.offset, steps, prod(pixels))
    y = images("input", dtype, input, groups, "conv_windows.wgsl", "const TAPS_DOWN = false;")
    y = replace(y, numbers=y.numbers | window.numbers(pixels))
    result = Result(dtype, cols % 4 == 0)
    k = other.shape[0] * prod(pixels)
    return Product(rows, cols, k, groups, 1, x, y, result, facts.out.numel).passes(facts.traits)


def alone(facts: Facts) -> bool:
    """Whether each channel is a group of its own: too little for a product, unless eight threads
    are as good as one."""
    channels = facts.attrs["groups"]
    own = channels == facts.out.shape[1] == facts.layouts[0].shape[1] > 1
    return own and not eight_as_one(facts.traits)


def by_element(facts: Facts, window: Window, weight_steps: tuple[int, ...]) -> Pass:
    """Without a product; so are integers, and float64 where there is one. The weight starts at
    the first of its steps, which are then those of its axes."""
    input, weight, bias = facts.layouts
    out, dtype = facts.out, facts.out_dtypes[0]
    channels = out.shape[1]
    numbers: dict[str, float] = {
        "count": out.numel, "m": channels, "channels": weight.shape[1],
        "group": channels // facts.attrs["groups"],
    }  # fmt: skip
    for name, sizes in (("out_height out_width", out.shape), ("height width", input.shape)):
        numbers |= dict(zip(name.split(), two(sizes[2:], 1), strict=True))
    numbers |= {"taps_down": window.kernel[0], "taps_across": window.kernel[1]}
    numbers |= axes("stride", window.stride) | axes("padding", window.padding)
    numbers |= axes("dilation", window.dilation)
    input_steps = (input.offset, *input.strides[:2], *two(input.strides[2:], 0))
    for name, steps in (("x", input_steps), ("y", weight_steps)):
        parts = ("offset", "image", "channel", "row", "col")
        numbers |= {f"{name}_{part}": step & WORD for part, step in zip(parts, steps, strict=True)}
    said = "value"
    if bias is not None:
        numbers |= {"z_offset": bias.offset, "z_step": bias.strides[0]}
        said = "add(value, bias_at(launch.z_offset + channel * launch.z_step))"
    front = [
        *arithmetic("input", "weight", dtype, facts.traits),
        f"fn biased(channel: u32, value: T) -> T {{ return {said}; }}",
    ]
    reads = ["input", "weight", *(["bias"] if bias is not None else [])]
    groups = (min(-(-out.numel // 64), MAX_GROUPS), 1, 1)
    return launched("conv_any.wgsl", groups, numbers, reads, "result", front)
