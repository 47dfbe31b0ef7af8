"""Runs ops that have kernels of their own: binds what a plan names, and launches its passes.

Shaders read tensors through accessors that stand in front of them: `NAME_at(place)` gives an
element in its compute type, whatever the dtype and however it is packed; `set_NAME(place, value)`
writes one, `put_NAME(q, a, b, c, d)` four from place 4 q on, by whole words. Where several threads
may write the same, `merge_NAME(place, value)` does. `NAME_type` is the type of an element, and
`name_t(...)` the library's `name` for the type of the first input. A shader that declares
`@binding`s itself gets none.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import Writer, place_function
from wgtorch.backends.webgpu.complaints import declare_report, reports
from wgtorch.backends.webgpu.merging import declare_joiner, declare_merger
from wgtorch.backends.webgpu.packing import (
    Dialect,
    element_type,
    one_writable,
    quad_type,
    read_one,
    write_one,
    write_quad,
)  # fmt: skip
from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.backends.webgpu.rows import Rows
from wgtorch.backends.webgpu.scanning import Scans
from wgtorch.backends.webgpu.spelling import converted
from wgtorch.config import CHECK, FALLBACK
from wgtorch.dtype import DType, bool_, int32
from wgtorch.layout import OFFSET, PLAIN, SINGLE, Layout
from wgtorch.op import Facts, Join, Map, Pass, Rowwise, Scan, Structured
from wgtorch.settled import Call
from wgtorch.storage import Value, View, gift

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU

GROUP, MAX_GROUPS = 256, 65535
Bound = tuple[str, DType]  # a buffer's name in the shader, and its dtype
fallbacks: Counter[str] = Counter()  # ops that ran on the cpu instead, and how often


class Step(NamedTuple):
    """A pass, ready to be dispatched. Buffers are numbered: inputs, results, temporaries."""

    kernel: Kernel
    slots: tuple[int, ...]
    numbers: tuple[float, ...]
    groups: tuple[int, int, int]
    cleared: tuple[int, ...]
    temps: tuple[int, ...]  # bytes of those that begin with this pass
    complaint: str | Exception  # see complaints.py


class Launcher:
    def __init__(self, home: WebGPU):
        self.home = home
        self.kernels: dict[tuple, Kernel] = {}
        self.rows, self.scans = Rows(home), Scans(home)

    def structured(self, call: Call, args: tuple) -> tuple[Value, ...]:
        ready = call.ready
        if ready is None or ready[0] is not self:  # new, or of a device that was lost
            ready = call.ready = self, *self._prepare(call)
        return ready[1](call, args, ready[2])

    def _prepare(self, call: Call) -> tuple[Callable, Any]:
        """(what runs such calls, what it needs to know)."""
        op = call.op
        for dtype, out in zip(call.out_dtypes, call.outs, strict=True):
            self.home.check(dtype, out.numel)
        for layout in call.layouts:
            if isinstance(layout, Layout):  # an expanded one may have more than its memory
                self.home.check(bool_, layout.numel)
        if isinstance(op, Join):
            return self._join, None
        if isinstance(op, Rowwise):
            return self.rows.run, self.rows.launch(call)
        if isinstance(op, Scan):
            return self.scans.run, self.scans.launch(call)
        passes = self._plan(call)
        if passes is None:
            return self._on_the_cpu, None
        return self._run, self._steps(call, passes)

    def _run(self, call: Call, args: tuple, steps: list[Step]) -> tuple[Value, ...]:
        home, op, buffers, results = self.home, call.op, [], []
        begun = None
        for name, arg in zip(op.inputs, args, strict=True):
            if arg is None:
                continue
            if name == op.starts_as:
                begun = self._begun(arg)
                buffers.append(begun)
                continue
            value = arg.storage.value
            if value.promise is not None:
                home.fill(value)
            buffers.append(value.buffer)
        for dtype, out in zip(call.out_dtypes, call.outs, strict=True):
            buffer = begun or home.take(out.numel * dtype.itemsize)
            buffers.append(buffer)
            results.append(Value(home.device, dtype, out.numel, buffer))
        for step in steps:
            for nbytes in step.temps:
                buffers.append(home.take(nbytes))
            for slot in step.cleared:
                home.queue.clear(buffers[slot])
            blocks = [buffers[slot].block for slot in step.slots]
            if step.kernel.checks:
                self._checked(step, blocks)
            else:
                home.queue.dispatch(step.kernel, blocks, step.numbers, step.groups)
        return tuple(results)

    def _checked(self, step: Step, blocks: list) -> None:
        """A dispatch that may report what is wrong with its data."""
        dock = self.home.dock
        flags, slot = dock.flag(step.complaint)
        blocks.append(flags.block)
        self.home.queue.dispatch(step.kernel, blocks, (*step.numbers, slot), step.groups)
        if CHECK:
            dock.finish()

    def _begun(self, view: View):
        """A buffer of its own with the view's elements: the view's, if that is given away."""
        home = self.home
        if gift.taken(view):
            home.own(view.storage)
            return view.storage.value.buffer
        promise = view.storage.value.promise
        if promise is not None and view.is_whole and promise.is_constant:
            value = home.elementwise(promise.typed, promise.args, promise.attrs, promise.layout)
        else:
            value = home.copied(view)
        home.fill(value)
        return value.buffer

    def _plan(self, call: Call) -> list[Pass] | None:
        """What to run; None where only the cpu can."""
        op, layouts = call.op, call.layouts
        facts = Facts(layouts, call.dtypes, call.outs, call.out_dtypes, call.attrs,
                      self.home.gpu.traits)  # fmt: skip
        if isinstance(op, Map):
            count = -(-facts.out.numel // 4)
            groups = min(-(-count // GROUP), MAX_GROUPS)
            numbers = (count, facts.out.numel - 1, *op.numbers(facts))
            reads = tuple(n for n, layout in zip(op.inputs, layouts, strict=True) if layout)
            front = tuple([constant(*pair) for pair in op.constants(facts).items()])
            step = Pass(op.shader, (groups, 1, 1), numbers, reads, front=front,
                        places=tuple(op.places(facts).items()),
                        complaint=op.complaint(facts))  # fmt: skip
            return [placed(step)] if count else []
        passes = op.plan(facts) if op.plan is not None else None
        if passes is None:
            return None
        return [placed(step) for step in ([passes] if isinstance(passes, Pass) else passes)]

    def _steps(self, call: Call, passes: list[Pass]) -> list[Step]:
        op, dtypes, slots = call.op, {}, {}
        given = [(n, d) for n, d in zip(op.inputs, call.dtypes, strict=True) if d is not None]
        made = zip(op.outputs or ("result",), call.out_dtypes, strict=True)
        for name, dtype in (*given, *made):
            slots[name], dtypes[name] = len(slots), dtype
        steps, taken = [], len(slots)
        for step in passes:
            for name, dtype, _ in step.temps:
                slots[name], dtypes[name] = taken, dtype
                taken += 1
            bound = [(name, dtypes[name]) for name in (*step.reads, *step.writes)]
            steps.append(
                Step(
                    self._kernel(op, step, bound),
                    tuple([slots[name] for name, _ in bound]),
                    step.numbers,
                    step.groups,
                    tuple([slots[name] for name in step.clear]),
                    tuple([numel * dtype.itemsize for _, dtype, numel in step.temps]),
                    step.complaint or f"{op.name}(): index {{index}} is out of range",
                )
            )
        return steps

    def _kernel(self, op: Structured, step: Pass, bound: list[Bound]) -> Kernel:
        forms = tuple([(name, layout.form) for name, layout in step.places])
        key = (step.shader, step.front, step.fields, tuple(bound), len(step.reads),
               isinstance(op, Map), forms, step.merge)  # fmt: skip
        kernel = self.kernels.get(key)
        if kernel is None:
            text = written(op, step, bound, self.home.dialect)
            kernel = self.kernels[key] = self.home.gpu.pipelines.get(text, op.name)
            kernel.checks = reports(text)
        return kernel

    # The two kinds without a shader of their own

    def _join(self, call: Call, args: tuple, _: None) -> tuple[Value, ...]:
        home, value, op = self.home, None, call.op
        out, dtype = call.outs[0], call.out_dtypes[0]
        parts = [p for arg in args for p in (arg if isinstance(arg, tuple) else (arg,))]
        places = op.places(out, [p.layout for p in parts], **call.attrs)  # type: ignore[attr-defined]
        for part, place in zip(parts, places, strict=True):
            if place is out:
                value = Value(home.device, dtype, out.numel, self._begun(part))
                continue
            if value is None:
                value = Value(home.device, dtype, out.numel, home.take(out.numel * dtype.itemsize))
            if place.numel:
                operand = home._operand(part, Layout.contiguous(part.layout.shape))
                home._put(operand, value, place)
        return (value or Value(home.device, dtype, out.numel, home.take(0)),)

    def _on_the_cpu(self, call: Call, args: tuple, _: None) -> tuple[Value, ...]:
        """No kernel here: the reference computes, which is said once and counted."""
        home, op = self.home, call.op
        if FALLBACK == "error":
            raise NotImplementedError(
                f"{op.name} has no kernel on {home.device} and WGTORCH_FALLBACK=error forbids the"
                f" cpu; call it on x.cpu()"
            )
        if not fallbacks[op.name]:
            warnings.warn(
                f"{op.name} has no kernel on {home.device}; it runs on the cpu and back",
                UserWarning,
                stacklevel=4,
            )
        fallbacks[op.name] += 1
        arrays = [self._as_array(a) for a in args]
        if op.starts_as:
            place = op.inputs.index(op.starts_as)
            arrays[place] = np.array(arrays[place], order="C")
        results = op.invoke(arrays, call.attrs)
        results = results if op.outputs else (results,)
        made = zip(results, call.out_dtypes, strict=True)
        return tuple([home.upload(np.asarray(result), dtype) for result, dtype in made])

    def _as_array(self, arg: Any) -> Any:
        if arg is None:
            return None
        if isinstance(arg, tuple):
            return tuple([self._as_array(a) for a in arg])
        array = self.home.download(arg)
        return array.astype(np.float32) if arg.dtype.wgsl == "f32" else array


def constant(name: str, value: int | bool) -> str:
    said = str(value).lower() if isinstance(value, bool) else f"{value}u"
    return f"const {name} = {said};"


def placed(step: Pass) -> Pass:
    """With the numbers of its places behind its own."""
    more = [number for _, layout in step.places for number in layout.numbers]
    return replace(step, numbers=(*step.numbers, *more)) if more else step


def written(op: Structured, step: Pass, bound: list[Bound], dialect: Dialect) -> str:
    """A pass's kernel: accessors and declarations in front of the shader file."""
    fields = step.fields or library.head(step.shader).get("launch", "").split()
    is_map = isinstance(op, Map)
    writer = Writer(dialect)
    for field in (*(("count", "last") if is_map else ()), *fields):
        name, _, kind = field.partition(":")
        writer.fields[name] = kind or "u32"
    body = library.shader(step.shader)
    for declaration in step.front:
        is_file = declaration.endswith(".wgsl")
        writer.declare(library.shader(declaration) if is_file else declaration)
    reads = len(step.reads)
    if not any("@binding" in text for text in (body, *step.front)):
        for name, dtype in bound[:reads]:
            declare_reader(writer, name, dtype, op.markers.get(name, ""), name in dict(step.places))
        if is_map:
            declare_map(writer, bound[-1][1])
        for name, dtype in bound[reads:] if not is_map else ():
            if step.merge:
                declare = declare_merger if f"merge_{name}(" in body else declare_joiner
                declare(writer, name, dtype, step.merge)
            elif f"put_{name}(" in body:
                declare_quad_writer(writer, name, dtype)
            else:
                declare_writer(writer, name, dtype)
    else:
        writer.slots = len(bound)
    for name, layout in step.places:
        declare_place(writer, name, layout)
    if bound:
        declare_typed(writer, "\n".join((body, *step.front)), bound[0][1])
    if reports(body):
        declare_report(writer, body)
    if is_map:
        body += "\n" + library.shader("elementwise.wgsl")
    return writer.text(body)


def declare_place(writer: Writer, name: str, layout: Layout) -> None:
    """`name(i)`: where element i of a layout of this form is."""
    form = layout.form
    if form not in (PLAIN, OFFSET, SINGLE):
        place_function(writer, name, form)
        return
    said = "i" if form == PLAIN else writer.number() + (" + i" if form == OFFSET else "")
    writer.declare(f"fn {name}(i: u32) -> u32 {{ return {said}; }}")


def declare_reader(writer: Writer, name: str, dtype: DType, marker: str, placed: bool) -> None:
    dialect = writer.dialect
    kind = dialect.type_of(dtype)
    words = writer.bind(element_type(dtype, dialect), "read", f"{name}_words")
    value = read_one(dtype, words, "place")
    if marker == "Index":  # indices are read as i32; those beyond are out of any range
        kind, value = "i32", as_index(dtype, value, dialect)
    elif marker == "Condition" and dtype.name != "bool":
        kind, value = "bool", f"any({value} != {kind}(0))"
    writer.declare(f"fn {name}_at(place: u32) -> {kind} {{ return {value}; }}")
    writer.declare(f"alias {name}_type = {kind};")
    if placed:
        writer.declare(f"fn {name}_nth(i: u32) -> {kind} {{ return {name}_at({name}(i)); }}")


def as_index(dtype: DType, value: str, dialect: Dialect) -> str:
    if dialect.emulates(dtype):
        return f"i64_as_index({value})"
    return f"i32(clamp({value}, -2147483647li, 2147483647li))" if dtype.wgsl == "i64" else value


def declare_map(writer: Writer, dtype: DType) -> None:
    """`compute(q)` stores four values of `value_at` at once."""
    dialect = writer.dialect
    writer.declare(f"alias T = {dialect.type_of(dtype)};")
    declare_of(writer, "result", dtype)
    name = writer.bind(quad_type(dtype, dialect), "read_write", "result_words")
    body = [f"let r{k} = value_at(min(4u * q + {k}u, launch.last));" for k in range(4)]
    body += write_quad(dtype, name, "q", [f"r{k}" for k in range(4)])
    writer.declare("fn compute(q: u32) {\n    " + "\n    ".join(body) + "\n}")


def declare_writer(writer: Writer, name: str, dtype: DType) -> None:
    dialect = writer.dialect
    kind = dialect.type_of(dtype)
    words = writer.bind(one_writable(dtype, dialect), "read_write", f"{name}_words")
    lines = "\n    ".join(write_one(dtype, words, "place", "value"))
    writer.declare(f"fn set_{name}(place: u32, value: {kind}) {{\n    {lines}\n}}")
    writer.declare(f"alias {name}_type = {kind};")
    declare_of(writer, name, dtype)


def declare_quad_writer(writer: Writer, name: str, dtype: DType) -> None:
    dialect = writer.dialect
    words = writer.bind(quad_type(dtype, dialect), "read_write", f"{name}_words")
    lines = "\n    ".join(write_quad(dtype, words, "q", ["a", "b", "c", "d"]))
    params = ", ".join(f"{v}: {dialect.type_of(dtype)}" for v in "abcd")
    writer.declare(f"fn put_{name}(q: u32, {params}) {{\n    {lines}\n}}")
    writer.declare(f"alias {name}_type = {dialect.type_of(dtype)};")
    declare_of(writer, name, dtype)


TYPED = re.compile(r"\b(\w+)_t(?=\()")


def declare_typed(writer: Writer, body: str, dtype: DType) -> None:
    """`name_t(...)`: the library's function for a type; truth is a number there."""
    for name in dict.fromkeys(TYPED.findall(body)):
        suffix = writer.dialect.suffix(dtype)
        if suffix == "bool" and f"{name}_bool" not in library.items():
            suffix = "i32"
        head = library.items()[f"{name}_{suffix}"].split("{", 1)[0]
        params, result = re.fullmatch(r"fn \w+\((.*)\)(.*)", head.strip()).groups()  # type: ignore[union-attr]
        names = ", ".join(re.findall(r"(\w+):", params))
        writer.declare(f"fn {name}_t({params}){result} {{ return {name}_{suffix}({names}); }}")


def declare_of(writer: Writer, name: str, dtype: DType) -> None:
    """`NAME_of(x)`: an i32, as what is written there."""
    dialect = writer.dialect
    said = converted("x", int32, dtype, dialect)
    writer.declare(f"fn {name}_of(x: i32) -> {dialect.type_of(dtype)} {{ return {said}; }}")
