"""Convolutions of few channels, where tiles of a matrix product would be all but empty: sums given
back to images of few channels, channels that are alone, and the gradient of a weight of which each
channel sees but one.

Unrolled over taps and pixels here, as only then are all sums of a thread in registers.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from wgtorch.dtype import float32
from wgtorch.layout import Layout
from wgtorch.op import Facts, Pass
from wgtorch.ops.product import MAX_GROUPS, launched, stored, summed
from wgtorch.ops.readers import FLOATS, loader
from wgtorch.ops.windows import WORD, Window, alone, axes, flat_taps, two
from wgtorch.record import replace

FEW = 8  # channels; a thread of a tile has as many rows
SUMS = 64  # of a thread
LEAST = 1 << 16  # pixels: with fewer, a product that is cut along k has more threads
MOST_TAPS = 64
SHARED = 1 << 14  # bytes of a workgroup's memory that every adapter has
GROUP = 128


class Axis(NamedTuple):
    """`blocks` times `stride` pixels beside each other, and the sums that windows see of them."""

    kernel: int
    stride: int
    padding: int
    blocks: int

    @property
    def pixels(self) -> int:
        return self.blocks * self.stride

    @property
    def first(self) -> int:
        """The first place that any pixel met, from that of the first pixel."""
        return -((self.kernel - 1 - self.padding) // self.stride)

    @property
    def places(self) -> int:
        return (self.pixels - 1 + self.padding) // self.stride - self.first + 1

    def met(self, pixel: int, tap: int) -> int | None:
        """The number of the place from which a tap met a pixel."""
        place, rest = divmod(pixel + self.padding - tap, self.stride)
        return None if rest else place - self.first


# Sums given back


def suits(facts: Facts, window: Window) -> bool:
    """Whether a transposed convolution has few channels, on a GPU."""
    few = facts.layouts[1].shape[1]
    plain = window.dilation == (1, 1) and facts.attrs["groups"] == 1
    fits = window.taps <= MOST_TAPS and prod(window.stride) * wide(few) * 4 <= SUMS
    is_float = facts.out_dtypes[0] is float32 and facts.dtypes[0] in FLOATS
    pays = facts.out.numel >= LEAST * few and not facts.traits.is_software
    return plain and fits and few <= FEW and is_float and pays


def wide(few: int) -> int:
    """Vectors of so many channels."""
    return -(-few // 4)


def given_back(facts: Facts, window: Window) -> Pass:
    input, weight, bias = facts.layouts
    out, few = two(facts.out.shape[2:], 1), weight.shape[1]
    blocks = min(SUMS // (4 * wide(few) * prod(window.stride)), 8 // window.stride[1])
    down = Axis(window.kernel[0], window.stride[0], window.padding[0], 1)
    across = Axis(window.kernel[1], window.stride[1], window.padding[1], max(1, blocks))
    chunk = max(1, min(weight.shape[0], SHARED // (16 * window.taps * wide(few))))
    threads = [-(-n // axis.pixels) for n, axis in zip(out, (down, across), strict=True)]
    count = facts.out.shape[0] * prod(threads)
    numbers: dict[str, float] = {
        "count": count, "down": threads[0], "across": threads[1], "channels": weight.shape[0],
        "few": few, "taps_across": window.kernel[1],
        **placed("x", input, ("image", "channel")), **placed("y", weight, ("channel", "few")),
        **dict(zip(("height", "width"), two(input.shape[2:], 1), strict=True)),
        **dict(zip(("out_height", "out_width"), out, strict=True)),
    }  # fmt: skip
    said = "0.0"
    if bias is not None:
        numbers |= {"bias_offset": bias.offset, "bias_step": bias.strides[0]}
        said = "bias_at(launch.bias_offset + channel * launch.bias_step)"
    front = [
        f"const TAPS = {window.taps}u;", f"const WIDE = {wide(few)}u;", f"const CHUNK = {chunk}u;",
        f"alias Totals = array<vec4f, {down.pixels * across.pixels * wide(few)}>;",
        f"fn bias_of(channel: u32) -> f32 {{ return {said}; }}",
        *(first(name, axis) for name, axis in (("row", down), ("col", across))),
        gather(down, across, wide(few)), finish(down, across, wide(few)),
    ]  # fmt: skip
    reads = ["input", "weight", *(["bias"] if bias is not None else [])]
    groups = (min(-(-count // GROUP), MAX_GROUPS), 1, 1)
    return launched("conv_few.wgsl", groups, numbers, reads, "result", front)


def placed(name: str, layout: Layout, outer: tuple[str, str]) -> dict[str, float]:
    """Where a tensor's elements are: numbers of `launch`."""
    parts = ("offset", *outer, "row", "col")
    steps = (layout.offset, *layout.strides[:2], *two(layout.strides[2:], 0))
    return {f"{name}_{part}": step & WORD for part, step in zip(parts, steps, strict=True)}


def first(name: str, axis: Axis) -> str:
    said = f"i * {axis.blocks}u + {axis.first & WORD}u"
    return f"fn first_{name}(i: u32) -> u32 {{ return {said}; }}"


def gather(down: Axis, across: Axis, vectors: int) -> str:
    """WGSL that adds, of one channel of the sums, what its pixels get."""
    lines = []
    for r in range(down.places):
        met = [(pixel, tap) for pixel in range(down.pixels) for tap in range(down.kernel)
               if down.met(pixel, tap) == r]  # fmt: skip
        for c in range(across.places):
            lines.append(f"let g{r}_{c} = seen(place, row + {r}u, col + {c}u);")
        for pixel, tap in met:
            lines += added(r, pixel * across.pixels, tap * across.kernel, across, vectors)
    head = "gather(totals: ptr<function, Totals>, place: u32, row: u32, col: u32, tap: u32)"
    return f"fn {head} {{\n    " + "\n    ".join(lines) + "\n}"


def added(row: int, start: int, first_tap: int, across: Axis, vectors: int) -> list[str]:
    """Statements for one row of places and one of pixels, each tap read once."""
    lines = []
    for tap in range(across.kernel):
        for v in range(vectors):
            lines.append(f"let w{row}_{first_tap + tap}_{v} = "
                         f"taps[tap + {(first_tap + tap) * vectors + v}u];")  # fmt: skip
            for pixel in range(across.pixels):
                place = across.met(pixel, tap)
                if place is not None:
                    total = f"(*totals)[{(start + pixel) * vectors + v}]"
                    worth = f"w{row}_{first_tap + tap}_{v}"
                    lines.append(f"{total} = fma(vec4f(g{row}_{place}), {worth}, {total});")
    return lines


def finish(down: Axis, across: Axis, vectors: int) -> str:
    """WGSL that stores the pixels."""
    lines = [f"let row = down * {down.pixels}u;", f"let col = across * {across.pixels}u;"]
    for r in range(down.pixels):
        for c in range(across.pixels):
            for v in range(vectors):
                total = f"(*totals)[{(r * across.pixels + c) * vectors + v}]"
                lines.append(f"store(image, row + {r}u, col + {c}u, {4 * v}u, {total});")
    head = "finish(totals: ptr<function, Totals>, image: u32, down: u32, across: u32)"
    return f"fn {head} {{\n    " + "\n    ".join(lines) + "\n}"


# The gradient of a weight


MOST_SUMS = 25  # taps of which a thread keeps sums
WANTED = 1024  # workgroups that keep a big GPU busy


def tap_plan(facts: Facts) -> list[Pass] | None:
    """Where each channel of the weight sees one of the images', on a GPU."""
    input, other = facts.layouts
    window = Window.of(facts.attrs["kernel_size"], facts.attrs)
    alone = input.shape[1] == facts.attrs["groups"] > 1
    if not alone or window.taps > MOST_SUMS or facts.traits.is_software:
        return None
    if facts.out_dtypes[0] is not float32 or not facts.out.numel or not other.numel:
        return None
    sums = flat_taps(other)
    pixels, channels = two(other.shape[2:], 1), other.shape[1]
    places, size = other.shape[0] * prod(pixels), 256 if window.taps <= 16 else 128
    span = -(-places // max(1, min(WANTED // channels, places // (8 * size))))
    parts, numel = -(-places // span), facts.out.numel
    numbers: dict[str, Any] = {
        "channels": channels, "each": channels // input.shape[1], "places": places, "span": span,
        **window.numbers(pixels), **placed("x", input, ("image", "channel")),
        **dict(zip(("height", "width"), two(input.shape[2:], 1), strict=True)),
        "y_offset": sums.offset, "y_image": sums.strides[0], "y_channel": sums.strides[1],
        "y_place": sums.strides[2],
    }  # fmt: skip
    target = "result" if parts == 1 else "share"
    sizes = {"GROUP": size, "DOWN": window.kernel[0], "ACROSS": window.kernel[1]}
    front = [f"const {name} = {value}u;" for name, value in sizes.items()]
    front.append(f"fn keep(i: u32, sum: f32) {{ set_{target}(i, sum); }}")
    temps = () if parts == 1 else (("share", float32, parts * numel),)
    reads, groups = ["input", "other"], (min(channels, MAX_GROUPS), parts, 1)
    main = launched("conv_taps.wgsl", groups, numbers, reads, target, front, temps)
    return [main] if parts == 1 else [main, summed(parts, numel)]


# Each channel alone


def alone_plan(facts: Facts) -> list[Pass] | None:
    """Where each channel is a group of its own, on a GPU; of stride 1 transposed ones too."""
    input, weight, bias = facts.layouts
    out, dtype = facts.out, facts.out_dtypes[0]
    if facts.traits.is_software or not out.numel or not alone(facts):
        return None
    window, (down, across) = Window.of(weight.shape[2:], facts.attrs), two(weight.strides[2:], 0)
    by_fours, start = out.shape[-1] % 4 == 0, weight.offset
    if window.taps > MOST_SUMS or not (dtype is float32 or (dtype in FLOATS and by_fours)):
        return None
    if facts.attrs["transposed"]:
        if window.stride != (1, 1):
            return None
        start += (window.kernel[0] - 1) * down + (window.kernel[1] - 1) * across
        window, down, across = window.turned, -down, -across
    height, width = two(out.shape[2:], 1)
    fours = -(-width // 4)
    count = out.shape[0] * out.shape[1] * height * fours
    numbers: dict[str, float] = {
        "count": count, "fours": fours, "out_height": height, "out_width": width,
        "channels": out.shape[1], **placed("x", input, ("image", "channel")),
        **dict(zip(("height", "width"), two(input.shape[2:], 1), strict=True)),
        **axes("stride", window.stride), **axes("padding", window.padding),
        **axes("dilation", window.dilation), "y_offset": start, "y_channel": weight.strides[0],
        "y_row": down & WORD, "y_col": across & WORD,
    }  # fmt: skip
    reads = ["input", "weight", *(["bias"] if bias is not None else [])]
    front = [loader("x", 0, dtype, False), loader("y", 1, dtype, False), four_windows(window)]
    said = "0.0"
    if bias is not None:
        front.append(loader("z", 2, dtype, False))
        numbers |= {"bias_offset": bias.offset, "bias_step": bias.strides[0]}
        said = "z_load(launch.bias_offset + channel * launch.bias_step)"
    front.append(f"fn bias_of(channel: u32) -> f32 {{ return {said}; }}")
    front.append(KEEP_FOUR if by_fours else KEEP_EACH)
    groups = (min(-(-count // GROUP), MAX_GROUPS), 1, 1)
    main = launched("conv_alone.wgsl", groups, numbers, reads, "result", front)
    return [replace(main, store=stored(dtype, len(reads), by_fours), by_fours=by_fours)]


KEEP_FOUR = "fn keep(place: u32, col: u32, v: vec4f) { store4(place / 4u, v); }"
KEEP_EACH = """fn keep(place: u32, col: u32, v: vec4f) {
    store_one(place, v.x);
    if col + 1u < launch.out_width { store_one(place + 1u, v.y); }
    if col + 2u < launch.out_width { store_one(place + 2u, v.z); }
    if col + 3u < launch.out_width { store_one(place + 3u, v.w); }
}"""


def four_windows(window: Window) -> str:
    """WGSL for what four windows beside each other see, each element read once."""
    (rows, cols), step, apart = window.kernel, window.stride[1], window.dilation[1]
    seen = sorted({four * step + col * apart for four in range(4) for col in range(cols)})
    lines = ["var total: vec4f;"]
    for row in range(rows):
        lines.append(f"let r{row} = row + {row}u * launch.dilation_row;")
        lines += [f"let x{row}_{n} = seen(place, r{row}, col + {n}u);" for n in seen]
        for col in range(cols):
            four = ", ".join(f"x{row}_{k * step + col * apart}" for k in range(4))
            worth = f"y_load(weight + {row}u * launch.y_row + {col}u * launch.y_col)"
            lines.append(f"total = fma(vec4f({four}), vec4f({worth}), total);")
    body = "\n    ".join([*lines, "return total;"])
    return f"fn window(place: u32, row: u32, col: u32, weight: u32) -> vec4f {{\n    {body}\n}}"
