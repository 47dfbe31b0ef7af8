"""A Crossing is an elementwise kernel with operands across its result, such as a transposed one.

Each thread takes a block of four by four: what lies along the result's rows by quads of a row,
what lies across by quads of a column, turned in registers. Other programs are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import Writer, lane_function
from wgtorch.backends.webgpu.fusion import Load, Program
from wgtorch.backends.webgpu.packing import (
    Dialect,
    element_type,
    quad_type,
    read_one,
    read_quad,
    write_quad,
)  # fmt: skip
from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.backends.webgpu.walks import merged
from wgtorch.layout import PLAIN, SINGLE, Layout

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU

LEAST = 1 << 12  # elements from which a kernel of its own pays
MAX_GROUPS = 65535
KEPT = 1 << 12  # launches remembered
HEAD = ("tiles", "tiles_along", "deep", "long")
FOUR = range(4)


class Launch(NamedTuple):
    kernel: Kernel
    numbers: tuple[int, ...]
    groups: tuple[int, int, int]


class Plan(NamedTuple):
    """The axes of a result and of its operands, those that walk memory as one merged."""

    sizes: list[int]
    strides: list[tuple[int, ...]]  # of each operand, then of the result
    offsets: list[int]
    deep: int  # the axis that lies across; the last is the result's own


class Crossings:
    def __init__(self, home: WebGPU):
        self.home = home
        self.ready: dict[Any, Launch | None] = {}

    def run(self, program: Program) -> bool:
        """Whether the program was one of these, and is now on its way."""
        if program.root.layout.numel < LEAST:
            return False
        layouts = [load.layout for load in program.loads if load.form > SINGLE]
        if not layouts:
            return False
        key = (program.key, *layouts)
        if key not in self.ready:
            if len(self.ready) >= KEPT:
                self.ready.clear()
            self.ready[key] = self._prepare(program)
        launch = self.ready[key]
        if launch is None:
            return False
        blocks = self.home.blocks(program)
        numbers = (*launch.numbers, *program.scalars)
        self.home.queue.dispatch(launch.kernel, blocks, numbers, launch.groups)
        return True

    def _prepare(self, program: Program) -> Launch | None:
        home = self.home
        if not home.dialect.unrolls:
            return None  # sixteen elements make a function too long for it
        if len(program.loads) + len(program.stores) >= home.gpu.most_buffers:
            return None
        plan = planned(program.root.layout.shape, program.loads)
        if plan is None:
            return None
        deep, long = plan.sizes[plan.deep] // 4, plan.sizes[-1] // 4
        shape = tile(deep, long)
        rest = prod(plan.sizes) // (16 * deep * long)
        along = -(-long // shape["LONG"])
        tiles = rest * -(-deep // shape["DEEP"]) * along
        text, numbers = written(program, plan, shape, home.dialect)
        kernel = home.gpu.pipelines.get(text, f"{program.title}<across>")
        head = (tiles, along, deep, long)
        return Launch(kernel, (*head, *numbers), (min(tiles, MAX_GROUPS), 1, 1))


def planned(shape: tuple[int, ...], loads: Sequence[Load]) -> Plan | None:
    """How to go about it, where an operand lies across the result and all can be had by fours."""
    if any(load.form < PLAIN for load in loads):  # drawn, or made on the way
        return None
    layouts = [*(load.layout for load in loads), Layout.contiguous(shape)]
    sizes, strides = merged(shape, [layout.strides for layout in layouts], list(range(len(shape))))
    offsets = [layout.offset for layout in layouts]
    if len(sizes) < 2 or sizes[-1] % 4:
        return None
    across = {
        steps.index(1) for steps in strides[:-1] if 1 in steps[:-1] and steps[-1] not in (0, 1)
    }
    for deep in sorted(across, key=lambda axis: -sizes[axis]):
        plan = Plan(sizes, strides, offsets, deep)
        if sizes[deep] % 4 == 0 and any(
            way(plan, n) == "column" for n in range(len(loads))
        ):  # fmt: skip
            return plan
    return None


def way(plan: Plan, n: int) -> str:
    """How operand n gives a block: by quads of a "row" or "column", or one "each"."""
    steps, offset = plan.strides[n], plan.offsets[n]
    for name, axis in (("row", len(steps) - 1), ("column", plan.deep)):
        others = [offset, *(s for a, s in enumerate(steps) if a != axis)]
        if steps[axis] == 1 and not any(s % 4 for s in others):
            return name
    return "each"


def tile(deep: int, long: int) -> dict[str, int]:
    """How the 256 threads of a group lie, for so many blocks both ways."""
    rows = min(16, 1 << max(deep - 1, 0).bit_length())
    cols = min(256 // rows, 1 << max(long - 1, 0).bit_length())
    rows = 256 // cols
    return {"DEEP": rows, "LONG": cols, "NEAR": min(rows, 8)}


# As WGSL


def written(
    program: Program, plan: Plan, shape: dict[str, int], dialect: Dialect
) -> tuple[str, list[int]]:
    """(the kernel, the numbers of its layouts)."""
    writer, numbers = Writer(dialect, *HEAD), []  # type: ignore[var-annotated]
    for name, value in shape.items():
        writer.declare(f"const {name} = {value}u;")

    def number(value: int) -> str:
        numbers.append(value & 0xFFFFFFFF)
        return writer.number()

    body = apart(plan, number)
    lanes = []
    for n, load in enumerate(program.loads):
        lines, values = block(writer, n, load, plan, number)
        body += lines
        lanes.append(values)
    body += placed(plan, len(plan.strides) - 1, number)
    lane_function(writer, program, program.stores)
    for k in range(16):
        body.append(f"let r{k} = lane({', '.join(values[k] for values in lanes)});")
    for n, step in enumerate(program.stores):
        member = f".r{n}" if len(program.stores) > 1 else ""
        name = writer.bind(quad_type(step.dtype, dialect), "read_write")
        last = len(plan.strides) - 1
        for j in FOUR:
            values = [f"r{4 * j + k}{member}" for k in FOUR]
            quad = f"((p{last} + {j}u * s{last}) / 4u)"
            body += write_quad(step.dtype, name, quad, values, dialect, True)
    lines = "\n    ".join(body)
    writer.declare(f"fn compute(rest: u32, d: u32, l: u32) {{\n    {lines}\n}}")
    return writer.text(library.shader("elementwise_blocks.wgsl")), numbers


def apart(plan: Plan, number: Any) -> list[str]:
    """Statements that declare c0, c1, ...: where the block is along the axes that are left."""
    left = [a for a in range(len(plan.sizes) - 1) if a != plan.deep]
    lines, index = [], "rest"
    for axis in reversed(left[1:]):
        size = number(plan.sizes[axis])
        lines += [f"let c{axis} = {index} % {size};", f"let i{axis} = {index} / {size};"]
        index = f"i{axis}"
    return [*lines, f"let c{left[0]} = {index};"] if left else []


def placed(plan: Plan, n: int, number: Any) -> list[str]:
    """Statements that declare pN, the place of the block's first element in operand N; sN and tN,
    from there to the next along d and l."""
    steps, last = plan.strides[n], len(plan.sizes) - 1
    side = "1u" if steps[plan.deep] == 1 else number(steps[plan.deep])
    along = "1u" if steps[last] == 1 else number(steps[last])
    terms = [f"4u * d * s{n}", f"4u * l * t{n}"]
    if plan.offsets[n]:
        terms.append(number(plan.offsets[n]))
    for axis, step in enumerate(steps):
        if step and axis not in (plan.deep, last):
            terms.append(f"c{axis} * {number(step)}")
    lines = [f"let s{n} = {side};", f"let t{n} = {along};"]
    return [*lines, f"let p{n} = {' + '.join(terms)};"]


def block(
    writer: Writer, n: int, load: Load, plan: Plan, number: Any
) -> tuple[list[str], list[str]]:
    """(statements, the sixteen elements, row by row) of operand n."""
    dtype, how = load.dtype, way(plan, n)
    lines = placed(plan, n, number)
    if how == "each":
        name = writer.bind(element_type(dtype, writer.dialect), "read")
        deep, long = plan.strides[n][plan.deep] != 0, plan.strides[n][-1] != 0
        for j in FOUR if deep else (0,):
            for k in FOUR if long else (0,):
                place = f"p{n} + {j}u * s{n} + {k}u * t{n}"
                lines.append(f"let e{n}_{j}{k} = {read_one(dtype, name, place)};")
        return lines, [f"e{n}_{j * deep}{k * long}" for j in FOUR for k in FOUR]
    name, quads = writer.bind(quad_type(dtype, writer.dialect), "read"), []
    next_ = "s" if how == "row" else "t"
    for k in FOUR:
        quad = f"((p{n} + {k}u * {next_}{n}) / 4u)"
        more, values = read_quad(dtype, name, quad, f"q{n}_{k}", writer.dialect)
        lines += more
        quads.append(values)
    if how == "row":
        return lines, [value for row in quads for value in row]
    return lines, [quads[k][j] for j in FOUR for k in FOUR]
