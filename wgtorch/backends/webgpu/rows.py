"""Ops on rows: what a row folds to comes back to each of its elements (softmax, normalisations).

A shader has `fn do_row(row: Base)` and runs in three ways: a thread for each row on a CPU, many
threads on a GPU, or many that keep the row in registers, where it fits (kept_rows.py). It reads and
writes by steps k < steps(), `NAME_get(row, k)` and `NAME_put(row, k, v)`, or once a row,
`NAME_set(v)`; v is of type V, a number or four neighbours. `all_sum(v)` and `all_max(v)` fold what
the threads of a row have. `NAME_v(...)` applies a function to each number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import Writer, lane_function
from wgtorch.backends.webgpu.deferral import LITTLE
from wgtorch.backends.webgpu.folding import (
    KEPT,
    MAX_GROUPS,
    WANTED,
    Share,
    group_share,
    power_below,
    thread_share,
)  # fmt: skip
from wgtorch.backends.webgpu.fusion import FEW, Load, Program, Promise, load_of
from wgtorch.backends.webgpu.kept_rows import Kept, kept_body, kept_share
from wgtorch.backends.webgpu.packing import (
    LANES,
    Dialect,
    one_writable,
    quad_type,
    write_one,
    write_quad,
)  # fmt: skip
from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.backends.webgpu.pool import blocks_of
from wgtorch.backends.webgpu.recognition import program_of
from wgtorch.backends.webgpu.walk_codegen import constants, declare_walk, function, taken, where
from wgtorch.backends.webgpu.walks import Walk, distinct, walk
from wgtorch.config import MAX_FUSED
from wgtorch.dtype import DType, float32
from wgtorch.layout import Layout
from wgtorch.op import Rowwise
from wgtorch.settled import Call
from wgtorch.storage import Value, View

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.adapter import Traits
    from wgtorch.backends.webgpu.backend import WebGPU

THREADS, GROUPS = "rows_threads.wgsl", "rows_groups.wgsl"
MOST_LOADS = 2  # of what an input is computed of
LONG = 8192  # steps from which many threads share a row: llvmpipe ends a thread's loops at 65,535
LANEWISE = re.compile(r"\b(\w+)_v(?=\()")


class Launch(NamedTuple):
    kernel: Kernel | None
    numbers: tuple[float, ...]
    groups: tuple[int, int, int]
    may_wait: bool  # whether it may wait for its reader, as a little one may


def is_little(promise: Any, view: View) -> bool:
    """Whether few ops compute a view that nobody needed yet, just as it is read."""
    return type(promise) is Promise and promise.layout is view.layout and promise.size <= FEW


def main_load(program: Program) -> Load:
    """The largest of what an input is computed of: it lies as the input would."""
    return max(program.loads, key=lambda load: distinct(load.layout))


class Computed(NamedTuple):
    """An input that is computed of loads, and where in the walk each of these is: the main one in
    the input's place, the others behind all inputs."""

    program: Program
    places: tuple[int, ...]


def computed_inputs(inputs: list[str], programs: dict[str, Program]) -> dict[str, Computed]:
    found, behind = {}, len(inputs)
    for n, name in enumerate(inputs):
        if name in programs:
            main, places = main_load(programs[name]), []
            for load in programs[name].loads:
                places.append(n if load is main else behind)
                behind += load is not main
            found[name] = Computed(programs[name], tuple(places))
    return found


class RowPromise:
    """The promise of an op on rows, which reads what was promised as it computes it: a kernel less.

    It waits for its first reader, as by then nobody else may hold what it reads.
    """

    __slots__ = ("call", "launch", "operands", "rows")
    layout, number, is_constant = None, None, False  # no expression, so nothing can join it

    def __init__(self, rows: Rows, call: Call, launch: Launch, operands: list[Any]):
        self.rows, self.call, self.launch, self.operands = rows, call, launch, operands

    def fulfil(self, value: Value) -> None:
        self.rows.fulfil(self, value)

    def explained(self) -> str:
        return self.rows.explained(self)


class Rows:
    def __init__(self, home: WebGPU):
        self.home = home
        self.kernels: dict[Any, Kernel] = {}
        self.texts: dict[Kernel | None, str] = {}
        self.fused: dict[Any, Any] = {}  # of calls whose operands are computed on the way

    def run(self, call: Call, args: tuple, launch: Launch) -> tuple[Value, ...]:
        home, waits, operands = self.home, False, []
        for arg in args:
            if arg is None:
                continue
            value = arg.storage.value
            operand = value.promise
            if operand is None:
                operand = value.buffer
            elif launch.may_wait and is_little(operand, arg):
                waits = True
            else:
                home.fulfil(value)
                operand = value.buffer
            operands.append(operand)
        if waits:
            return (self._promised(call, launch, operands),)
        blocks = [buffer.block for buffer in operands]
        values = []
        for dtype, out in zip(call.out_dtypes, call.outs, strict=True):
            buffer = home.take(out.numel * dtype.itemsize)
            blocks.append(buffer.block)
            values.append(Value(home.device, dtype, out.numel, buffer))
        if launch.kernel is not None:
            home.queue.dispatch(launch.kernel, blocks, launch.numbers, launch.groups)
        return tuple(values)

    def _promised(self, call: Call, launch: Launch, operands: list[Any]) -> Value:
        home, promise = self.home, RowPromise(self, call, launch, operands)
        value = Value(home.device, call.out_dtypes[0], call.outs[0].numel, None, promise)
        home.remember(ref(value))
        return value

    def fulfil(self, promise: RowPromise, value: Value) -> None:
        home = self.home
        launch, buffers, scalars = self._ready(promise, home.load)
        result = home.take(value.nbytes)
        blocks = [*blocks_of(buffers), result.block]
        value.buffer, value.promise = result, None
        home.queue.dispatch(launch.kernel, blocks, (*launch.numbers, *scalars), launch.groups)

    def _ready(
        self, promise: RowPromise, made: Callable[[Promise], Any]
    ) -> tuple[Launch, list[Any], list[float]]:
        """(how to launch it, what it reads: buffers, and numbers of what it computes of them); what
        it cannot compute is `made`."""
        key: list[Any] = [promise.call]
        programs: dict[int, Program] = {}
        buffers, scalars = [], []
        for place, operand in enumerate(promise.operands):
            if type(operand) is Promise:
                program = program_of(operand) if operand.filled is None else None
                loads = () if program is None or program.stores else program.loads
                if 0 < len(loads) <= MOST_LOADS:
                    programs[place] = program
                    key += (place, program.key, *[load.layout for load in loads])
                    buffers += [load.buffer for load in loads]
                    scalars += program.scalars
                    continue
                operand = made(operand).buffer
            buffers.append(operand)
        if not programs:
            return promise.launch, buffers, scalars
        launch = self.fused.get(tuple(key), self)
        if launch is self:
            launch = self._fused(tuple(key), promise.call, programs)
        if launch is not None:
            return launch, buffers, scalars
        buffers = [made(o).buffer if type(o) is Promise else o for o in promise.operands]
        return promise.launch, buffers, []

    def _fused(self, key: tuple, call: Call, programs: dict[int, Program]) -> Launch | None:
        """None of what is not all of float32, or drawn."""
        if len(self.fused) >= KEPT:
            self.fused.clear()
        each = [p for program in programs.values() for p in (*program.loads, *program.steps)]
        fits = all([p.dtype is float32 and getattr(p, "buffer", p) is not None for p in each])
        launch = self.fused[key] = self.launch(call, programs) if fits else None
        return launch

    def explained(self, promise: RowPromise) -> str:
        """The WGSL that would fulfil a promise."""
        return self.texts[
            self._ready(promise, lambda step: load_of(None, step.layout, step.dtype))[0].kernel
        ]

    def launch(self, call: Call, programs: dict[int, Program] | None = None) -> Launch:
        """`programs` compute what it reads; by their places among the inputs that are there."""
        pairs = zip(call.layouts, call.dtypes, strict=True)
        kinds = [None if layout is None else (layout, dtype) for layout, dtype in pairs]
        given = [n for n, kind in enumerate(kinds) if kind]
        inlined = {}
        for place, program in (programs or {}).items():
            inlined[call.op.inputs[given[place]]] = program
            kinds[given[place]] = main_load(program).layout, float32
        attrs = tuple(call.attrs.items())
        return self._launch(call.op, tuple(kinds), call.outs, call.out_dtypes, attrs, inlined)

    def _launch(self, op, kinds, outs, dtypes, attrs, programs) -> Launch:
        home = self.home
        first = next(kind for kind in kinds if kind)
        shape, dims = first[0].shape, op.dims(first[0].shape, **dict(attrs))
        if not first[0].numel:
            return Launch(None, (), (0, 0, 0), False)
        if any(kind and kind[1].wgsl != "f32" for kind in kinds):
            worst = next(kind[1] for kind in kinds if kind and kind[1].wgsl != "f32")
            raise TypeError(
                f"{op.name.strip('_')}(): {home.device} has no kernel for {worst.name};"
                " use .float() or .cpu()"
            )
        body = library.shader(op.shader)
        inputs = [n for n, kind in zip(op.inputs, kinds, strict=True) if kind]
        full = [n for n in op.outputs or ("result",) if f"{n}_put(" in body]
        computed = computed_inputs(inputs, programs)
        layouts = [kind[0].expand(shape) for kind in kinds if kind]
        for program, places in computed.values():
            pairs = zip(program.loads, places, strict=True)
            layouts += [load.layout.expand(shape) for load, at in pairs if at >= len(inputs)]
        layouts += [Layout.contiguous(shape)] * len(full)
        way = walk(shape, dims, layouts, False, len(full))
        kept, share = shared(body, inputs, way, home.gpu.traits)
        fields = library.head(op.shader).get("launch", "").split()
        bound = [(n, kind[1]) for n, kind in zip(inputs, [k for k in kinds if k], strict=True)]
        bound += list(zip(op.outputs or ("result",), dtypes, strict=True))
        key = (op, tuple(bound), way.structure, share.file, kept, *share.constants.items(),
               *[(name, program.key, at) for name, (program, at) in computed.items()])  # fmt: skip
        kernel = self.kernels.get(key)
        if kernel is None:
            title = op.name + "".join(f"<{program.title}>" for program in programs.values())
            text = rowwise(op, bound, full, way, share, kept, fields, computed, home.dialect)
            kernel = self.kernels[key] = home.gpu.pipelines.get(text, title)
            self.texts[kernel] = text
        numbers = [dict(attrs)[name] for name in fields]
        head = (way.units, way.cols, way.outer)
        held = sum([kind[0].numel * kind[1].itemsize for kind in kinds if kind])
        may_wait = MAX_FUSED > 1 and not op.outputs and held <= LITTLE
        return Launch(kernel, (*head, *numbers, *way.numbers), share.groups, may_wait)


def shared(body: str, inputs: list[str], way: Walk, traits: Traits) -> tuple[Kept | None, Share]:
    """How threads share rows, and what they keep of them."""
    if traits.is_software and way.outer * way.cols <= LONG * way.step:
        return None, thread_share(way, False)._replace(file=THREADS)
    kept = kept_share(body, inputs, way, traits)
    if kept:
        return kept
    share = row_share(way)
    return None, share._replace(file=GROUPS if "LANES" in share.constants else THREADS)


def row_share(way: Walk) -> Share:
    """As many threads per row as have a few steps each: a row is read more than once, so few rows
    should be under way at a time, for caches to hold them."""
    steps = -(-way.cols // way.step) * way.outer
    wanted = max(steps // 4, min(steps, WANTED // max(way.units, 1)))
    lanes = min(256, power_below(wanted))
    if way.by_row or lanes == 1:
        return group_share(way, False)
    side = 256 // lanes
    constants: dict[str, int | bool] = {"LANES": lanes, "SIDE": side, "BY_ROW": False}
    return Share(GROUPS, constants, (min(-(-way.units // side), MAX_GROUPS), 1, 1), 1, steps)


def rowwise(
    op: Rowwise, bound: list[tuple[str, DType]], full: list[str], way: Walk,
    share: Share, kept: Kept | None, fields: list[str], computed: dict[str, Computed],
    dialect: Dialect,
) -> str:  # fmt: skip
    """The kernel: accessors of a walk, the op's own file, and how threads share rows."""
    writer = Writer(dialect, "units", "cols", "outer")
    for name in fields:
        writer.fields[name] = "f32"
    constants(writer, share.constants | {"STEP": way.step})
    declare_numbers(writer, way)
    declare_walk(writer, way)
    body = library.shader(op.shader)
    inputs = [pair for pair in bound if pair[0] in op.inputs]
    for n, (name, dtype) in enumerate(inputs):
        if name in computed:
            declare_computed(writer, name, *computed[name], way)
        else:
            declare_get(writer, name, *taken(writer, n, dtype, way), way)
    written = len(inputs) + sum([len(places) - 1 for _, places in computed.values()])
    for name in op.inputs:
        if name in op.absent and name not in dict(inputs):
            said = f"return V({op.absent[name]});"
            writer.declare(f"fn {name}_get(row: Base, k: u32) -> V {{ {said} }}")
    for name, dtype in bound[len(inputs) :]:
        if name in full:
            declare_put(writer, name, dtype, written + full.index(name), way)
        else:
            declare_set(writer, name, dtype, way)
    if kept:
        body = kept_body(body, kept)
    body += "\n" + library.shader(share.file)
    declare_lanewise(writer, body, way)
    return writer.text(body)


def declare_numbers(writer: Writer, way: Walk) -> None:
    four = bool(way.quads)
    writer.declare(f"alias V = {'vec4<f32>' if four else 'f32'};")
    along = way.quads == "along"
    total = "V(v.x + v.y + v.z + v.w)" if along else "v"
    most = "V(maximum_f32(maximum_f32(v.x, v.y), maximum_f32(v.z, v.w)))" if along else "v"
    writer.declare(f"fn own_sum(v: V) -> V {{ return {total}; }}")
    writer.declare(f"fn own_max(v: V) -> V {{ return {most}; }}")


def here(way: Walk) -> list[str]:
    """Statements that declare `at` and `col`, where step k of this thread is."""
    lines = ["let i = step_of(k);"]
    if way.outer == 1:
        return [*lines, "let at = row;", "let col = i * STEP;"]
    lines.append("let per = (launch.cols + STEP - 1u) / STEP;")
    return [*lines, "let at = reach(row, i / per);", "let col = i % per * STEP;"]


def declare_get(writer: Writer, name: str, lines: list[str], values: list[str], way: Walk) -> None:
    lines = [*here(way), *lines, f"return V({', '.join(values)});"]
    writer.declare(function(f"{name}_get(row: Base, k: u32) -> V", lines))


def declare_computed(
    writer: Writer, name: str, program: Program, places: tuple[int, ...], way: Walk
) -> None:
    """The same of an input that is computed of loads, which have these places in the walk."""
    pairs = zip(places, program.loads, strict=True)
    read = [taken(writer, place, load.dtype, way) for place, load in pairs]
    lane_function(writer, program, [program.root], f"{name}_of")
    lanes = zip(*[values for _, values in read], strict=True)
    values = [f"{name}_of({', '.join(lane)})" for lane in lanes]
    declare_get(writer, name, [line for lines, _ in read for line in lines], values, way)


def declare_put(writer: Writer, name: str, dtype: DType, n: int, way: Walk) -> None:
    dialect = writer.dialect
    place = where(way, n)
    said = "{}" if dtype.is_floating_point else "i32({})"
    if way.quads:
        words = writer.bind(quad_type(dtype, dialect), "read_write", f"{name}_words")
        values = [said.format(f"v.{lane}") for lane in LANES]
        lines = write_quad(dtype, words, f"(({place}) / 4u)", values, dialect)
    else:
        words = writer.bind(one_writable(dtype, dialect), "read_write", f"{name}_words")
        lines = write_one(dtype, words, place, said.format("v"))
    writer.declare(function(f"{name}_put(row: Base, k: u32, v: V)", [*here(way), *lines]))


def declare_set(writer: Writer, name: str, dtype: DType, way: Walk) -> None:
    """Once a row."""
    dialect = writer.dialect
    if way.quads == "across":
        words = writer.bind(quad_type(dtype, dialect), "read_write", f"{name}_words")
        lines = write_quad(dtype, words, "unit", [f"v.{lane}" for lane in LANES], dialect)
    else:
        words = writer.bind(one_writable(dtype, dialect), "read_write", f"{name}_words")
        lines = write_one(dtype, words, "unit", "v.x" if way.quads else "v")
    writer.declare(function(f"{name}_set(v: V)", lines))


def declare_lanewise(writer: Writer, body: str, way: Walk) -> None:
    """Functions of numbers, for all of a V."""
    for name in dict.fromkeys(LANEWISE.findall(body)):
        inner = library.items()[f"{name}_f32"]
        names = re.findall(r"(\w+): f32", inner.split("{", 1)[0])
        params = ", ".join(f"{n}: V" for n in names)
        if way.quads:
            each = [f"{name}_f32({', '.join(f'{n}.{lane}' for n in names)})" for lane in LANES]
            said = f"V({', '.join(each)})"
        else:
            said = f"{name}_f32({', '.join(names)})"
        writer.declare(f"fn {name}_v({params}) -> V {{ return {said}; }}")
