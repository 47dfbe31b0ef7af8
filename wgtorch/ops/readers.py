"""A Reader is one side of a matrix product, as the WGSL through which a kernel reads it.

The kernels (shaders/matmul_*.wgsl) see the sides x (rows along m) and y (columns along n) only
through functions put in front of them, so that strides, element types and convolutions are no
concern of theirs:

    NAME_place(batch, i)   where row or column i (the first of four, unless NAME_ALONG_K) starts
    NAME_quad(place, k)    four elements, along k if NAME_ALONG_K, else of four rows or columns
    NAME_edge(place, k)    the same where k may reach beyond the last: zeros there
"""

from __future__ import annotations

from math import prod

from wgtorch.dtype import DType, bfloat16, float16, float32
from wgtorch.layout import Layout
from wgtorch.record import Record

LANES = "xyzw"
FLOATS = (float32, float16, bfloat16)  # what is computed as f32
HALVES = {float16: "f16", bfloat16: "bf16"}
COUNTS = {"x": "launch.m", "y": "launch.n"}  # how many rows or columns there are


class Reader(Record):
    buffer: str  # the name of an input
    front: tuple[str, ...]  # WGSL, and names of shader files, that declare the functions
    numbers: dict[str, float]  # fields of `launch`, by name; `name:f32` for floats
    along_k: bool
    gathers: bool = False  # whether reading takes more than adding strides up


class Matrix(Record):
    """Strided numbers: `step` from row to row of x (column to column of y), `k` along k; batch b
    lies at b / inner * far + b % inner * near."""

    offset: int
    far: int
    near: int
    step: int
    k: int

    def aligned(self, batches: int, inner: int) -> bool:
        """Whether every start of a batch is the start of a quad."""
        moves = (self.near if inner > 1 else 0, self.far if batches > inner else 0)
        return not any(n % 4 for n in (self.offset, *moves))

    def named(self, name: str) -> dict[str, float]:
        parts = ("offset", "far", "near", "step", "k")
        return {f"{name}_{part}": getattr(self, part) for part in parts}


def binding(slot: int, name: str, kind: str, access: str = "read") -> str:
    return f"@group(0) @binding({slot}) var<storage, {access}> {name}: array<{kind}>;"


def loader(name: str, slot: int, dtype: DType, by_fours: bool) -> str:
    """Declares the buffer and `NAME_load4(place)` (a place divisible by four) or `NAME_load`."""
    half = HALVES.get(dtype)
    if by_fours:
        kind = "vec2u" if half else "vec4f"
        get = f"return {name}[place >> 2u];"
        if half:
            get = (
                f"let words = {name}[place >> 2u];\n"
                f"    return vec4f(unpack2_{half}(words.x), unpack2_{half}(words.y));"
            )
        function = f"fn {name}_load4(place: u32) -> vec4f {{\n    {get}\n}}"
    else:
        kind = "u32" if half else "f32"
        get = f"unpack_{half}({name}[place >> 1u], place & 1u)" if half else f"{name}[place]"
        function = f"fn {name}_load(place: u32) -> f32 {{ return {get}; }}"
    return f"{binding(slot, name, kind)}\n{function}"


def strided(
    name: str, slot: int, buffer: str, dtype: DType, matrix: Matrix, sizes: tuple[int, int],
    batches: tuple[int, int],
) -> Reader:  # fmt: skip
    """Any matrix, of `sizes` (rows or columns, k), in (batches, how many of them near): by fours
    where they lie together and start at multiples of four."""
    size, k = sizes
    aligned = matrix.aligned(*batches)
    along_k = matrix.k == 1 or matrix.step != 1
    if aligned and matrix.k == 1 and k % 4 == 0 and matrix.step % 4 == 0 and k:
        text, fours = quads_along_k(name), True
    elif aligned and matrix.step == 1 and size % 4 == 0 and matrix.k % 4 == 0:
        text, fours, along_k = quads_beside(name), True, False
    else:
        text, fours = (singles_along_k if along_k else singles_beside)(name), False
    front = (loader(name, slot, dtype, fours), along(name, along_k), text)
    return Reader(buffer, front, matrix.named(name), along_k)


def along(name: str, along_k: bool) -> str:
    return f"const {name.upper()}_ALONG_K = {str(along_k).lower()};"


def start(name: str) -> str:
    """WGSL for where a batch starts."""
    return (
        f"launch.{name}_offset + batch / launch.inner * launch.{name}_far"
        f" + batch % launch.inner * launch.{name}_near"
    )


def functions(name: str, kind: str, place: str, quad: str, edge: str) -> str:
    return f"""
alias {name.upper()}_PLACE = {kind};
fn {name}_place(batch: u32, i: u32) -> {kind} {{
    {place}
}}
fn {name}_quad(place: {kind}, k: u32) -> vec4f {{
    {quad}
}}
fn {name}_edge(place: {kind}, k: u32) -> vec4f {{
    {edge}
}}
"""


def quads_along_k(name: str) -> str:
    load = f"{name}_load4"
    return functions(
        name,
        "u32",
        f"return {start(name)} + min(i, {COUNTS[name]} - 1u) * launch.{name}_step;",
        f"return {load}(place + k);",
        f"return select(vec4f(), {load}(place + min(k, launch.k - 4u)), k < launch.k);",
    )


def quads_beside(name: str) -> str:
    load, step = f"{name}_load4", f"launch.{name}_k"
    return functions(
        name,
        "u32",
        f"return {start(name)} + min(i, {COUNTS[name]} - 4u);",
        f"return {load}(place + k * {step});",
        f"return select(vec4f(), {load}(place + min(k, launch.k - 1u) * {step}), k < launch.k);",
    )


def singles_along_k(name: str) -> str:
    load, step = f"{name}_load", f"launch.{name}_k"
    near = ", ".join(f"{load}(p + {j}u * {step})" for j in range(4))
    edge = ",\n        ".join(
        f"select(0.0, {load}(place + min(k + {j}u, last) * {step}), k + {j}u <= last)"
        for j in range(4)
    )
    return functions(
        name,
        "u32",
        f"return {start(name)} + min(i, {COUNTS[name]} - 1u) * launch.{name}_step;",
        f"let p = place + k * {step};\n    return vec4f({near});",
        f"let last = launch.k - 1u;\n    return vec4f(\n        {edge}\n    );",
    )


def singles_beside(name: str) -> str:
    load, step = f"{name}_load", f"launch.{name}_k"
    four = ", ".join(f"{load}(p.{lane})" for lane in LANES)
    beside = ", ".join(f"min(i + {j}u, last)" for j in range(4))
    return functions(
        name,
        "vec4u",
        f"let last = {COUNTS[name]} - 1u;\n"
        f"    return {start(name)} + vec4u({beside}) * launch.{name}_step;",
        f"let p = place + k * {step};\n    return vec4f({four});",
        f"let p = place + min(k, launch.k - 1u) * {step};\n"
        f"    return select(vec4f(), vec4f({four}), k < launch.k);",
    )


# Batches


def merged_batches(shape: tuple[int, ...], *layouts: Layout) -> list[tuple[int, ...]]:
    """(size, a stride of each layout) of the batch axes, those merged that every layout walks as
    one. The layouts have `shape` and their matrices behind it."""
    axes: list[tuple[int, ...]] = []
    for d, size in enumerate(shape):
        strides = tuple(layout.strides[d] for layout in layouts)
        if size == 1:
            continue
        if axes and all(a == size * s for a, s in zip(axes[-1][1:], strides, strict=True)):
            axes[-1] = (axes[-1][0] * size, *strides)
        else:
            axes.append((size, *strides))
    return axes


def mergeable(shape: tuple[int, ...], *layouts: Layout) -> bool:
    """Whether two batch axes are enough: what a kernel can walk."""
    return len(merged_batches(shape, *layouts)) <= 2


def batch_axes(shape: tuple[int, ...], *layouts: Layout) -> tuple[int, int, list[tuple[int, int]]]:
    """(batches, size of the inner axis, (far, near) strides of each layout)."""
    axes = merged_batches(shape, *layouts)
    axes = [(1,) * (1 + len(layouts))] * (2 - len(axes)) + axes
    far, near = axes
    return prod(shape), near[0], list(zip(far[1:], near[1:], strict=True))
