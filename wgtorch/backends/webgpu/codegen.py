"""Programs as WGSL. Pure text in, text out; it runs once per structure, never per launch.

Each op becomes a named function, and a chain of ops one function `lane` over numbers, so a kernel
reads like the Python that caused it. The text depends only on structure (ops, dtypes, forms of
layouts); sizes, strides and scalars are fields of `launch`, which every kernel declares an
immediate (pipelines.py may make it a uniform).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.fusion import DRAWN, Deferred, Load, Program, Promise
from wgtorch.backends.webgpu.packing import (
    LANES,
    ROUNDED,
    Dialect,
    element_type,
    one_writable,
    quad_type,
    read_one,
    read_quad,
    read_words,
    words_type,
    write_one,
    write_quad,
    write_words,
)  # fmt: skip
from wgtorch.backends.webgpu.spelling import converted, reaches_beyond, spelled
from wgtorch.dtype import DType, bool_, complex64
from wgtorch.layout import OFFSET, PLAIN, SINGLE, STRIDED, Layout
from wgtorch.settled import TypedOp

HALVES = re.compile(r"\b(pack2_f16|unpack_f16|unpack2_f16|round_f16_f32)\b")
LAUNCH = "var<immediate> launch: Launch;"
LOOP = "elementwise.wgsl"
Pairs = tuple[tuple[int, int], ...]


class Writer:
    """Collects the declarations of one kernel."""

    def __init__(self, dialect: Dialect, *fields: str):
        self.dialect = dialect
        self.fields = dict.fromkeys(fields, "u32")
        self.lines: dict[str, None] = {}  # an ordered set: each helper is declared once
        self.slots = 0
        self.places: dict[Layout, tuple[str, list[str]]] = {}  # of strided operands

    def declare(self, line: str) -> None:
        self.lines[line] = None

    def number(self, kind: str = "u32") -> str:
        """A run-time number; returns the WGSL that reads it. 64-bit ones travel as two words."""
        name = f"n{len(self.fields)}"
        if kind in ("i64", "f64"):
            self.fields[f"{name}_{kind}_low"] = self.fields[f"{name}_{kind}_high"] = "u32"
            return f"vec2<u32>(launch.{name}_{kind}_low, launch.{name}_{kind}_high)"
        self.fields[name] = kind
        return f"launch.{name}"

    def bind(self, kind: str, access: str, name: str = "") -> str:
        name = name or f"b{self.slots}"
        place = f"@group(0) @binding({self.slots})"
        self.declare(f"{place} var<storage, {access}> {name}: array<{kind}>;")
        self.slots += 1
        return name

    def loop(self, many: int = 1) -> str:
        """The shader that calls `compute`, once for so many of what is counted."""
        self.declare(f"const PER_CALL = {many}u;")
        return library.shader("elementwise_lanes.wgsl" if self.dialect.by_lanes else LOOP)

    def text(self, tail: str) -> str:
        body = "\n".join([*self.lines, "", tail])
        if self.dialect.halves:
            body = HALVES.sub(r"\1_native", body)
        return declare_launch(self.fields) + library.needed(body) + body


def declare_launch(fields: dict[str, str]) -> str:
    listed = ", ".join(f"{name}: {kind}" for name, kind in fields.items())
    return f"struct Launch {{ {listed} }}\n{LAUNCH}\n" if fields else ""


# Where element i sits


def place_function(writer: Writer, name: str, form: int) -> list[str]:
    """Declares `name(i)`, the place of element i in a strided layout; its numbers (see Layout)."""
    numbers = [writer.number()]
    terms = [numbers[0]]
    for _ in range(form - STRIDED):
        step, size, stride = axis = [writer.number() for _ in range(3)]
        numbers += axis
        terms.append(f"i / {step} % {size} * {stride}")
    writer.declare(f"fn {name}(i: u32) -> u32 {{ return {' + '.join(terms)}; }}")
    return numbers


def place_of(writer: Writer, load: Load) -> tuple[str, list[str]]:
    """(function, numbers) of a strided operand's place; operands that lie alike share them."""
    known = writer.places.get(load.layout)
    if known is None:
        name = f"place{len(writer.places)}"
        known = writer.places[load.layout] = name, place_function(writer, name, load.form)
    return known


def load_quad(
    writer: Writer, index: int, load: Load, access: str = "read"
) -> tuple[list[str], list[str]]:
    """(statements, the four elements) of the quad `q`, whose first element is number `i`."""
    dtype, form, fours = load.dtype, load.form, load.fours
    if form == DRAWN:
        drawn = draw_quad(writer, load, seed_of(writer), index, "q")
        return drawn, [f"d{index}.{lane}" for lane in LANES]
    single = element_type(dtype, writer.dialect)
    if form == PLAIN or fours == "quad":
        name = writer.bind(quad_type(dtype, writer.dialect), access)
        quad = "q"
        if form == OFFSET:
            quad = f"({writer.number()} / 4u + q)"
        elif form:
            quad = f"({place_of(writer, load)[0]}(i) / 4u)"
        return read_quad(dtype, name, quad, f"q{index}", writer.dialect)
    name = writer.bind(single, "read")
    if form == OFFSET:
        offset = writer.number()
        return [], [read_one(dtype, name, f"{offset} + i + {k}u") for k in range(4)]
    if form == SINGLE or fours == "same":
        place = writer.number() if form == SINGLE else f"{place_of(writer, load)[0]}(i)"
        kept = [f"let p{index} = {place};", f"let e{index} = {read_one(dtype, name, f'p{index}')};"]
        return kept, [f"e{index}"] * 4
    place, numbers = place_of(writer, load)
    if fours == "step":
        places = [f"p{index} + {k}u * {numbers[-1]}" for k in range(4)]
        return [f"let p{index} = {place}(i);"], [read_one(dtype, name, p) for p in places]
    kept = [f"let p{index}_{k} = {place}(i + {k}u);" for k in range(4)]
    return kept, [read_one(dtype, name, f"p{index}_{k}") for k in range(4)]


def seed_of(writer: Writer) -> str:
    """The numbers of a draw: seed, offset."""
    return ", ".join(f"vec2<u32>({writer.number()}, {writer.number()})" for _ in range(2))


def draw_quad(writer: Writer, load: Load, seed: str, index: int | str, quad: str) -> list[str]:
    """Statements that declare the four random numbers of a quad."""
    said = re.sub(r"\bwords\b", f"w{index}", load.kind[0].wgsl)
    block = "random_block_i64" if writer.dialect.int64 else "random_block"
    return [f"let w{index} = {block}({seed}, {quad});", f"let d{index} = {said};"]


def load_one(writer: Writer, index: int, load: Load) -> tuple[list[str], str]:
    """(statements, element `i`)."""
    if load.form == DRAWN:
        return draw_quad(writer, load, seed_of(writer), index, "i / 4u"), f"d{index}[i % 4u]"
    name = writer.bind(element_type(load.dtype, writer.dialect), "read")
    place = "i"
    if load.form == OFFSET:
        place = f"{writer.number()} + i"
    elif load.form == SINGLE:
        place = writer.number()
    elif load.form:
        place = f"{place_of(writer, load)[0]}(i)"
    kept = [f"let p{index} = {place};"]
    return kept, read_one(load.dtype, name, f"p{index}")


# What is computed of one element


def lane_function(writer: Writer, program: Program, results: list, name: str = "lane") -> str:
    """Declares `lane`: from the loaded elements to `results`. Returns the type it answers with."""
    dialect = writer.dialect
    params = ", ".join(
        f"x{n}: {dialect.type_of(load.dtype)}" for n, load in enumerate(program.loads)
    )
    body = [f"let v{n} = {call(writer, program, step)};" for n, step in enumerate(program.steps)]
    names = [program.name_of(r) for r in results]
    kinds = [dialect.type_of(r.dtype) for r in results]
    if len(results) == 1:
        kind, answer = kinds[0], names[0]
    else:
        kind = "Results"
        members = ", ".join(f"r{n}: {k}" for n, k in enumerate(kinds))
        writer.declare(f"struct Results {{ {members} }}")
        answer = f"Results({', '.join(names)})"
    lines = "\n    ".join([*body, f"return {answer};"])
    writer.declare(f"fn {name}({params}) -> {kind} {{\n    {lines}\n}}")
    return kind


def call(writer: Writer, program: Program, step: Promise) -> str:
    """A call of the op as a WGSL function, declaring that function on first use."""
    typed = step.typed
    dtypes = taken(typed)
    args = [*step.args, *step.attrs.values()]
    values = [value_of(writer, program, a, d) for a, d in zip(args, dtypes, strict=True)]
    return f"{op_function(writer, typed)}({', '.join(values)})"


def op_function(writer: Writer, typed: TypedOp) -> str:
    op, dialect = typed.op, writer.dialect
    name = f"{op.name}_{typed.compute.name}"
    kinds = taken(typed)
    pairs = zip((*op.inputs, *op.attrs), kinds, strict=True)
    params = ", ".join(f"{n}: {dialect.type_of(k)}" for n, k in pairs)
    expression = op.expression(typed.compute)
    if typed.compute is bool_:
        said = spelled(expression, BOOL_AS, dialect)
        said = said if op.result == "bool" else f"({said}) != 0"
    else:
        said = spelled(expression, typed.compute, dialect)
    if typed.dtype in ROUNDED and op.result != "bool":
        said = ROUNDED[typed.dtype].format(said)
    function = f"fn {name}({params}) -> {dialect.type_of(typed.dtype)} {{ return {said}; }}"
    writer.declare(function)
    if op.name in library.OWN_OPS:
        library.SPOKEN[function] = op.name
    return name


def taken(typed: TypedOp) -> list[DType]:
    """The types of an op's operands and attributes: bools are numbers unless conditions."""
    op, kinds = typed.op, typed.operands + [typed.compute] * len(typed.op.attrs)
    if typed.compute is not bool_:
        return kinds
    conditions = [op.markers.get(name) == "Condition" for name in (*op.inputs, *op.attrs)]
    return [k if known else BOOL_AS for k, known in zip(kinds, conditions, strict=True)]


BOOL_AS = DType("bool as i32", "int32", "i32", "integer", "Bool")  # what bools are computed in


def value_of(writer: Writer, program: Program, arg, dtype: DType) -> str:
    """An operand as its op wants it."""
    dialect = writer.dialect
    if not isinstance(arg, Promise | Load | Deferred):
        if type(arg) is complex and dtype.category < 3:  # a condition
            said = converted(scalar(writer, complex64, complex), complex64, bool_, dialect)
            return converted(said, bool_, dtype, dialect)
        return scalar(writer, dtype, type(arg))
    value, have = program.name_of(arg), arg.dtype
    if dtype is BOOL_AS:  # 0.3 is true, and so is 2 ** 32
        value, have = converted(value, have, bool_, dialect), bool_
    value = converted(value, have, dtype, dialect)
    if dtype.category == 1 and dtype in ROUNDED and reaches_beyond(have, dtype):
        value = ROUNDED[dtype].format(value)  # of a 0-d tensor, whose dtype yields
    return value


def scalar(writer: Writer, dtype: DType, kind: type = float) -> str:
    dialect = writer.dialect
    if dtype.category == 3:
        real = writer.number("f32")
        return f"c64({real}, {writer.number('f32') if kind is complex else '0.0'})"
    if dtype is bool_:
        return f"({writer.number()} != 0u)"
    value = writer.number(dtype.wgsl)
    if dtype.category == 1 and dtype in ROUNDED:
        return ROUNDED[dtype].format(value)
    if dtype.wgsl == "i64" and not dialect.emulates(dtype):
        return f"i64_of_words({value})"
    return f"f64_of_words({value})" if dtype.wgsl == "f64" else value


# Whole kernels


def elementwise(program: Program, dialect: Dialect, pairs: Pairs = ()) -> str:
    """Four elements per call of `compute`, or as many as fill 16 bytes, stored by whole words."""
    writer, many = Writer(dialect, "count"), quads_at_once(program, dialect)
    load = load_quad if many == 1 else partial(load_short, many=many)
    body = quad_body(writer, program, pairs, load, many)
    writer.declare("fn compute(q: u32) {\n    " + "\n    ".join(body) + "\n}")
    return writer.text(writer.loop(many))


def quads_at_once(program: Program, dialect: Dialect) -> int:
    """How many quads of the longest dtype fill 16 bytes; one where operands do not lie plainly."""
    if not dialect.unrolls or any(load.form not in (PLAIN, SINGLE) for load in program.loads):
        return 1
    kept = [load for load in program.loads if load.form == PLAIN] + program.stores
    return max(1, 4 // max(each.dtype.itemsize for each in kept))


def load_short(
    writer: Writer, index: int, load: Load, access: str, many: int
) -> tuple[list[str], list[str]]:
    """As `load_quad`, of `many` quads; `q` counts those."""
    if load.form == SINGLE:
        lines, lanes = load_quad(writer, index, load, access)
        return lines, lanes * many
    words = load.dtype.itemsize * many
    name = writer.bind(words_type(words), access)
    return read_words(load.dtype, name, "q", words, f"q{index}")


def quad_body(
    writer: Writer, program: Program, pairs: Pairs, load_one_quad: Callable, many: int = 1
) -> list[str]:
    """Statements that load, compute and store quad `q`, or `many` quads. What `pairs` name, (store,
    load), is stored where it was loaded from."""
    taken, names, loads = dict(pairs), {}, []
    for n, load in enumerate(program.loads):
        names[n] = f"b{writer.slots}"
        access = "read_write" if n in taken.values() else "read"
        loads.append(load_one_quad(writer, n, load, access))
    lane_function(writer, program, program.stores)
    body = ["let i = q * 4u;"] if many == 1 else []
    body += [line for lines, _ in loads for line in lines]
    for k in range(4 * many):
        body.append(f"let r{k} = lane({', '.join(lanes[k] for _, lanes in loads)});")
    several = len(program.stores) > 1
    for n, step in enumerate(program.stores):
        name = names[taken[n]] if n in taken else ""
        kind = words_type(step.dtype.itemsize * many) if many > 1 else ""
        kind = kind or quad_type(step.dtype, writer.dialect)
        name = name or writer.bind(kind, "read_write")
        member = f".r{n}" if several else ""
        values = [f"r{k}{member}" for k in range(4 * many)]
        if many > 1:
            body.append(write_words(step.dtype, name, "q", values, True))
        else:
            body += write_quad(step.dtype, name, "q", values, writer.dialect, True)
    return body


def assignment(program: Program, layout: Layout, dtype: DType, dialect: Dialect) -> str:
    """The root's elements put where `layout` points in a buffer that exists, four per call if they
    fill whole words there, else one.
    """
    if in_quads(layout):
        return assignment_by_fours(program, layout, dtype, dialect)
    writer = Writer(dialect, "count")
    body, values = load_all(writer, program)
    lane_function(writer, program, [program.root, *program.stores])
    name = writer.bind(one_writable(dtype, dialect), "read_write")
    place = "i"
    if layout.form == OFFSET:
        place = f"{writer.number()} + i"
    elif layout.form == SINGLE:
        place = writer.number()
    elif layout.form:
        place_function(writer, "target_place", layout.form)
        place = "target_place(i)"
    body.append(f"let r = lane({', '.join(values)});")
    member = ".r0" if program.stores else ""
    body += [f"let place = {place};", *write_one(dtype, name, "place", f"r{member}")]
    for n, step in enumerate(program.stores, 1):
        store = writer.bind(one_writable(step.dtype, dialect), "read_write")
        lines = write_one(step.dtype, store, "i", f"r.r{n}")
        body += ["{", *lines, "}"]  # each has names of its own
    writer.declare("fn compute(i: u32) {\n    " + "\n    ".join(body) + "\n}")
    return writer.text(writer.loop())


def in_quads(layout: Layout) -> bool:
    """Whether every four neighbours fill whole words of memory."""
    if layout.numel % 4 or layout.form == SINGLE:
        return False
    return not layout.offset % 4 if layout.form < STRIDED else layout.by_fours == "quad"


def assignment_by_fours(program: Program, layout: Layout, dtype: DType, dialect: Dialect) -> str:
    writer = Writer(dialect, "count")
    loads = [load_quad(writer, n, load) for n, load in enumerate(program.loads)]
    lane_function(writer, program, [program.root, *program.stores])
    body = ["let i = q * 4u;"] + [line for lines, _ in loads for line in lines]
    for k in range(4):
        body.append(f"let r{k} = lane({', '.join(lanes[k] for _, lanes in loads)});")
    name, quad = writer.bind(quad_type(dtype, dialect), "read_write"), "q"
    if layout.form == OFFSET:
        quad = f"({writer.number()} / 4u + q)"
    elif layout.form:
        place_function(writer, "target_place", layout.form)
        quad = "(target_place(i) / 4u)"
    member = ".r0" if program.stores else ""
    body += write_quad(dtype, name, quad, [f"r{k}{member}" for k in range(4)], dialect, True)
    for n, step in enumerate(program.stores, 1):
        store = writer.bind(quad_type(step.dtype, dialect), "read_write")
        body += write_quad(step.dtype, store, "q", [f"r{k}.r{n}" for k in range(4)], dialect)
    writer.declare("fn compute(q: u32) {\n    " + "\n    ".join(body) + "\n}")
    return writer.text(writer.loop())


def load_all(writer: Writer, program: Program) -> tuple[list[str], list[str]]:
    loads = [load_one(writer, n, load) for n, load in enumerate(program.loads)]
    return [line for lines, _ in loads for line in lines], [value for _, value in loads]
