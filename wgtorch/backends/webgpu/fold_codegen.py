"""Folds as WGSL: what a kernel folds, how it gets there, and what it leaves.

`shaders/fold_threads.wgsl` and `fold_groups.wgsl` say how threads share the work; what stands in
front of them is written here: `Base` and `reach` (where a row is), `take` (the next column or four
columns, of one row or four), `join` and `finish`. Each element is computed on the way in.
"""

from __future__ import annotations

import re

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import BOOL_AS, Writer, draw_quad, lane_function, seed_of
from wgtorch.backends.webgpu.fusion import DRAWN, Load, Program
from wgtorch.backends.webgpu.packing import (
    LANES,
    Dialect,
    element_type,
    one_writable,
    quad_type,
    read_one,
    read_quad,
    write_one,
    write_quad,
)  # fmt: skip
from wgtorch.backends.webgpu.spelling import constant, converted, spelled
from wgtorch.backends.webgpu.walks import Walk
from wgtorch.dtype import DType, bool_, float32
from wgtorch.op import Reduction, Scan
from wgtorch.settled import Fold

HEAD = (
    "units",
    "cols",
    "outer",
    "span",
    "rows",
    "splits",
)  # the numbers that every fold reads first
FOUR = "abcd"


def fold(
    fold: Fold, program: Program, walk: Walk, shape: dict[str, int | bool], file: str, last: bool,
    dialect: Dialect,
) -> str:  # fmt: skip
    """A kernel that folds a program's elements. `last`: else it leaves parts for another."""
    writer = Writer(dialect, *HEAD)
    constants(writer, shape | {"STEP": walk.step, "NESTED": walk.outer > 1})
    declare_walk(writer, walk)
    declare_state(writer, fold.op, fold.compute)
    declare_take(writer, fold, program, walk)
    declare_many(writer, file)
    declare_rest(writer, fold, walk.quads == "across", last)
    return writer.text(library.shader(file))


def second(fold: Fold, shape: dict[str, int | bool], file: str, dialect: Dialect) -> str:
    """A kernel that folds the parts which the first one left."""
    writer = Writer(dialect, *HEAD)
    constants(writer, shape | {"STEP": 1, "NESTED": False})
    writer.declare("struct Base { first: u32 }")
    writer.declare("fn base(unit: u32) -> Base { return Base(unit); }")
    writer.declare("fn reach(at: Base, outer: u32) -> Base { return at; }")
    declare_state(writer, fold.op, fold.compute)
    parts = writer.bind("A", "read", "parts")
    part = f"{parts}[col * launch.rows + at.first]"
    writer.declare(f"fn take(s: S, at: Base, col: u32) -> S {{ return combine(s, {part}); }}")
    declare_many(writer, file)
    declare_rest(writer, fold, False, True)
    return writer.text(library.shader(file))


def constants(writer: Writer, values: dict[str, int | bool]) -> None:
    for name, value in values.items():
        said = str(value).lower() if isinstance(value, bool) else f"{value}u"
        writer.declare(f"const {name} = {said};")


# What is folded


def element_dtype(op: Reduction | Scan, compute: DType) -> DType:
    """What T is; truth is a number: NVIDIA's driver loses bools that a workgroup shares."""
    return BOOL_AS if compute is bool_ else compute


def declare_state(writer: Writer, op: Reduction | Scan, compute: DType) -> None:
    """A, enter, nothing and combine."""
    dialect, inner = writer.dialect, element_dtype(op, compute)
    writer.declare(f"alias T = {dialect.type_of(inner)};")
    identity = spelled_identity(op.identity, inner, dialect)
    if op.arg:
        writer.declare("struct A { value: T, index: u32 }")
        writer.declare("fn enter(x: T, index: u32) -> A { return A(x, index); }")
        index = "0u" if isinstance(op, Scan) else "0xffffffffu"
        writer.declare(f"fn nothing() -> A {{ return A({identity}, {index}); }}")
        beats = spelled(op.combine, inner, dialect)
        writer.declare(f"fn beats(a: T, b: T) -> bool {{ return {beats}; }}")
        writer.declare(BETTER.format(sooner=">" if isinstance(op, Scan) else "<"))
        return
    state = op.state and f"{op.state}_{dialect.suffix(inner)}"
    writer.declare(f"alias A = {state or 'T'};")
    entered = said(op.enter, inner, dialect)
    names = op.inputs if len(op.inputs) > 1 else ("x",)
    params = ", ".join(f"{name}: T" for name in names)
    writer.declare(f"fn enter({params}, index: u32) -> A {{ return {entered}; }}")
    writer.declare(f"fn nothing() -> A {{ return {identity}; }}")
    writer.declare(f"fn combine(a: A, b: A) -> A {{ return {said(op.combine, inner, dialect)}; }}")


BETTER = """fn combine(a: A, b: A) -> A {{
    let even = !beats(b.value, a.value) & (b.index {sooner} a.index);
    let better = beats(a.value, b.value) | even;
    return A(select(a.value, b.value, better), select(a.index, b.index, better));
}}"""


def said(expression: str, compute: DType, dialect: Dialect) -> str:
    return spelled(expression, compute, dialect)


def spelled_identity(identity: str, compute: DType, dialect: Dialect) -> str:
    """ "0", "lowest", "highest", or a library function's call, as a value of the state."""
    if identity in ("lowest", "highest"):
        return extreme(compute, identity == "highest", dialect)
    if identity.endswith(")"):
        return spelled(identity, compute, dialect)
    if dialect.emulates(compute):
        return constant(int(identity))
    if compute.category == 3:
        return f"c64({float(identity)}, 0.0)"
    return f"{dialect.type_of(compute)}({identity})"


def extreme(compute: DType, highest: bool, dialect: Dialect) -> str:
    if compute.is_floating_point:
        infinity = f"float_of({'0x7f800000u' if highest else '0xff800000u'})"
        return infinity if compute.wgsl == "f32" else f"f64({infinity})"
    bits = 8 * compute.itemsize
    if compute.kind == "u":
        value = (1 << bits) - 1 if highest else 0
    else:
        value = (1 << bits - 1) - 1 if highest else -(1 << bits - 1)
    if dialect.emulates(compute):
        return constant(value)
    if compute.wgsl == "i64":
        return f"{value}li" if value > -(1 << 63) else f"({value + 1}li - 1li)"
    return f"{value}" if value > -(1 << 31) else "(-2147483647 - 1)"


# Where it is


def declare_walk(writer: Writer, walk: Walk) -> None:
    """Base: the number of a row's first column, and where each operand has that row."""
    row_sizes = [writer.number() for _ in walk.row_sizes[1:]]
    outer_sizes = [writer.number() for _ in walk.outer_sizes[1:]]
    members = ["first: u32"] + [f"p{n}: u32" for n in range(len(walk.places))]
    starts, reaches = ["0u"], ["outer * launch.cols"]
    for n, place in enumerate(walk.places):
        terms = [writer.number()] if place.offset else []
        terms += [f"c{k} * {writer.number()}" for k in range(len(place.rows))]
        starts.append(" + ".join(terms) or "0u")
        terms = [f"at.p{n}"] + [f"c{k} * {writer.number()}" for k in range(len(place.outers))]
        reaches.append(" + ".join(terms))
        if place.mode == "step" and walk.quads == "across":
            writer.declare(f"fn near{n}() -> u32 {{ return {starts[-1].split(' * ')[-1]}; }}")
        if place.inner not in (0, 1):
            writer.declare(f"fn inner{n}() -> u32 {{ return {writer.number()}; }}")
    writer.declare(f"struct Base {{ {', '.join(members)} }}")
    row = "unit * 4u" if walk.quads == "across" else "unit"
    lines = apart(row, row_sizes, bool(walk.row_sizes))
    writer.declare(
        function("base(unit: u32) -> Base", [*lines, f"return Base({', '.join(starts)});"])
    )
    lines = apart("outer", outer_sizes, bool(walk.outer_sizes))
    answer = f"return Base({', '.join(reaches)});"
    writer.declare(function("reach(at: Base, outer: u32) -> Base", [*lines, answer]))


def apart(index: str, sizes: list[str], has_axes: bool) -> list[str]:
    """Statements that declare c0, c1, ...: the index along each axis."""
    if not has_axes:
        return []
    lines = [f"let i0 = {index};"]
    for k, size in enumerate(reversed(sizes)):
        lines.append(f"let c{len(sizes) - k} = i{k} % {size};")
        lines.append(f"let i{k + 1} = i{k} / {size};")
    return [*lines, f"let c0 = i{len(sizes)};"]


def function(head: str, lines: list[str]) -> str:
    return f"fn {head} {{\n    " + "\n    ".join(lines) + "\n}"


# What is taken at once


def declare_take(writer: Writer, fold: Fold, program: Program, walk: Walk) -> None:
    dialect, root = writer.dialect, program.root
    inner = element_dtype(fold.op, fold.compute)
    count = 4 if walk.quads else 1
    body, lanes = [], []
    for n, load in enumerate(program.loads):
        if load.form == DRAWN:
            lines, values = drawn(writer, n, load, walk)
        else:
            lines, values = taken(writer, n, load.dtype, walk)
        body += lines
        lanes.append(values)
    lane_function(writer, program, [root, *program.stores])
    for k in range(count):
        body.append(f"let r{k} = lane({', '.join(values[k] for values in lanes)});")
    body += stored(writer, program, walk)
    member = ".r0" if program.stores else ""
    step = "" if walk.quads == "across" else "{k}u"
    for k in range(count):
        value = converted(f"r{k}{member}", root.dtype, fold.compute, dialect)
        value = converted(value, fold.compute, inner, dialect)
        index = "at.first + col" + (f" + {step.format(k=k)}" if step and k else "")
        body.append(f"let e{k} = enter({value}, {index});")
    body.append(gathered(walk))
    writer.declare(function("take(s: S, at: Base, col: u32) -> S", body))


def declare_many(writer: Writer, file: str) -> None:
    """How many steps a thread takes at once, and taking them, where the shader asks for it."""
    if "take_many" not in library.shader(file):
        return
    many = 8 if writer.dialect.unrolls else 1
    lines = [f"let s{k + 1} = take(s{k}, at, col + {k}u * STEP);" for k in range(many)]
    head = "take_many(s0: S, at: Base, col: u32) -> S"
    writer.declare(f"const MANY = {many}u;")
    writer.declare(function(head, [*lines, f"return s{many};"]))


def gathered(walk: Walk) -> str:
    """The end of `take`: its elements folded into what there is."""
    if not walk.quads:
        return "return combine(s, e0);"
    if walk.quads == "across":
        return "return S(" + ", ".join(f"combine(s.{FOUR[k]}, e{k})" for k in range(4)) + ");"
    whole = "combine(s, combine(combine(e0, e1), combine(e2, e3)))"
    if not walk.ragged:
        return f"return {whole};"
    lines = [f"if col + 3u < launch.cols {{ return {whole}; }}", "var t = combine(s, e0);"]
    lines += [f"if col + {k}u < launch.cols {{ t = combine(t, e{k}); }}" for k in (1, 2)]
    return "\n    ".join([*lines, "return t;"])


def where(walk: Walk, n: int) -> str:
    """The place of operand n at column `col` (of the first of four)."""
    number = walk.which[n]
    inner = walk.places[number].inner
    if not inner:
        return f"at.p{number}"
    return f"at.p{number} + col" if inner == 1 else f"at.p{number} + col * inner{number}()"


def taken(writer: Writer, n: int, dtype: DType, walk: Walk) -> tuple[list[str], list[str]]:
    """(statements, an operand's element or its four)."""
    dialect, place = writer.dialect, walk.places[walk.which[n]]
    if place.mode == "quad":
        name = writer.bind(quad_type(dtype, dialect), "read")
        at = [f"let p{n} = ({where(walk, n)}) / 4u;"]
        lines, values = read_quad(dtype, name, f"p{n}", f"q{n}")
        return at + lines, values
    name = writer.bind(element_type(dtype, dialect), "read")
    lines = [f"let p{n} = {where(walk, n)};"]
    if not walk.quads:
        return lines, [read_one(dtype, name, f"p{n}")]
    if place.mode == "same":
        lines.append(f"let x{n} = {read_one(dtype, name, f'p{n}')};")
        return lines, [f"x{n}"] * 4
    step = neighbour(walk, n)
    return lines, [read_one(dtype, name, f"p{n} + {k}u * {step}") for k in range(4)]


def drawn(writer: Writer, n: int, load: Load, walk: Walk) -> tuple[list[str], list[str]]:
    """As `taken`, of random numbers."""
    seed, place = seed_of(writer), walk.places[walk.which[n]]
    lines = [f"let p{n} = {where(walk, n)};"]
    if place.mode == "quad":
        lines += draw_quad(writer, load, seed, n, f"p{n} / 4u")
        return lines, [f"d{n}.{lane}" for lane in LANES]
    values = []
    for k in range(4 if walk.quads else 1):
        step = f" + {k}u * {neighbour(walk, n)}" if k else ""
        lines.append(f"let p{n}_{k} = p{n}{step};")
        lines += draw_quad(writer, load, seed, f"{n}_{k}", f"p{n}_{k} / 4u")
        values.append(f"d{n}_{k}[p{n}_{k} % 4u]")
    return lines, values


def neighbour(walk: Walk, n: int) -> str:
    """From one of four elements to the next: along the row, or to the next row."""
    number = walk.which[n]
    if walk.quads == "along":
        return "1u" if walk.places[number].inner in (0, 1) else f"inner{number}()"
    return f"near{number}()"


def stored(writer: Writer, program: Program, walk: Walk) -> list[str]:
    """Statements that keep the steps somebody waits for; their place is the last operand's."""
    body: list[str] = []
    last = len(program.loads)
    for n, step in enumerate(program.stores, 1):
        values = [f"r{k}.r{n}" for k in range(4 if walk.quads else 1)]
        if walk.quads:
            name = writer.bind(quad_type(step.dtype, writer.dialect), "read_write")
            body += write_quad(step.dtype, name, f"(({where(walk, last)}) / 4u)", values)
        else:
            name = writer.bind(element_type(step.dtype, writer.dialect), "read_write")
            body += write_one(step.dtype, name, where(walk, last), values[0])
    return body


# What is left


def declare_rest(writer: Writer, fold: Fold, four: bool, last: bool) -> None:
    """S (one state, or four), start, join and finish."""
    if four:
        writer.declare("struct S { " + ", ".join(f"{c}: A" for c in FOUR) + " }")
        start = ", ".join(["nothing()"] * 4)
        writer.declare(f"fn start() -> S {{ return S({start}); }}")
        pairs = ", ".join(f"combine(s.{c}, t.{c})" for c in FOUR)
        writer.declare(f"fn join(s: S, t: S) -> S {{ return S({pairs}); }}")
        states = [f"s.{c}" for c in FOUR]
    else:
        writer.declare("alias S = A;")
        writer.declare("fn start() -> S { return nothing(); }")
        writer.declare("fn join(s: S, t: S) -> S { return combine(s, t); }")
        states = ["s"]
    head = "finish(unit: u32, split: u32, s: S)"
    writer.declare(function(head, finished(writer, fold, states, last)))


def finished(writer: Writer, fold: Fold, states: list[str], last: bool) -> list[str]:
    many = len(states)
    if not last:
        name = writer.bind("A", "read_write", "parts")
        row = f"split * launch.rows + unit * {many}u"
        return [f"{name}[{row} + {k}u] = {s};" for k, s in enumerate(states)]
    dialect, body = writer.dialect, []
    for n, dtype in enumerate(fold.dtypes):
        declare_leave(writer, fold, n, dtype)
        values = [f"leave{n}({s})" for s in states]
        if many == 4:
            name = writer.bind(quad_type(dtype, dialect), "read_write")
            body += write_quad(dtype, name, "unit", values)
        else:
            name = writer.bind(one_writable(dtype, dialect), "read_write")
            body += ["{", *write_one(dtype, name, "unit", values[0]), "}"]
    return body


def declare_leave(writer: Writer, fold: Fold, n: int, dtype: DType) -> None:
    """The n-th result, out of a state."""
    op, dialect, inner = fold.op, writer.dialect, element_dtype(fold.op, fold.compute)
    kind = dialect.type_of(dtype)
    if op.arg:
        word = op.result[n] if isinstance(op.result, tuple) else op.result
        found = converted("a.value", inner, dtype, dialect)
        value = from_index("a.index", dialect) if word == "index" else found
    else:
        value = converted(said(leaves(op)[n], inner, dialect), inner, dtype, dialect)
    for name in leave_numbers(fold):
        writer.fields[name] = "f32"
        number = converted(f"launch.{name}", float32, inner, dialect)
        value = re.sub(rf"\b{name}\b", number, value)
    writer.declare(f"fn leave{n}(a: A) -> {kind} {{ return {value}; }}")


def leave_numbers(fold: Fold) -> dict[str, float]:
    """The numbers that the end of a fold asks for, by name."""
    numbers = {"count": float(fold.count)} | fold.attrs
    words = library.WORD.findall(" ".join(leaves(fold.op)))
    return {word: numbers[word] for word in words if word in numbers}


def leaves(op: Reduction | Scan) -> tuple[str, ...]:
    return op.leave if isinstance(op.leave, tuple) else (op.leave,)


def from_index(index: str, dialect: Dialect) -> str:
    """A u32 as int64."""
    return f"i64({index})" if dialect.int64 else f"vec2<u32>({index}, 0u)"


def part_bytes(fold: Fold) -> int:
    """The most that one part takes in a buffer."""
    wide = 2 if fold.compute.itemsize == 8 else 1
    return (16 if fold.op.state else 8 if fold.op.arg else 4) * wide


def has_state(fold: Fold, dialect: Dialect) -> bool:
    """Whether the library folds states of this compute type."""
    return f"{fold.op.state}_{dialect.suffix(fold.compute)}" in library.items()
