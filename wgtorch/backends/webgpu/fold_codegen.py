"""Folds as WGSL: what a kernel folds, how it gets there, and what it leaves.

`shaders/fold_threads.wgsl` and `fold_groups.wgsl` say how threads share the work; what stands in
front of them is written here: `Base` and `reach` (where a row is), `take` (the next column or four
columns, of one row or four), `join` and `finish`. Each element is computed on the way in.
"""

from __future__ import annotations

import re
from functools import partial

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import BOOL_AS, Pairs, Writer, lane_function
from wgtorch.backends.webgpu.epilogue import declare_epilogue
from wgtorch.backends.webgpu.fusion import DRAWN, Program
from wgtorch.backends.webgpu.packing import (
    Dialect,
    element_type,
    one_writable,
    quad_type,
    write_one,
    write_quad,
)  # fmt: skip
from wgtorch.backends.webgpu.spelling import constant, converted, spelled
from wgtorch.backends.webgpu.walk_codegen import (
    constants,
    declare_walk,
    drawn,
    function,
    taken,
    where,
)  # fmt: skip
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
LONG = 32  # ops in a row: what is longer gains nothing, and takes long to compile
STATES = "abcdefgh"  # of neighbouring rows


def opening(
    fold: Fold, program: Program, walk: Walk, shape: dict[str, int | bool], file: str,
    dialect: Dialect,
) -> Writer:  # fmt: skip
    """Of a kernel that folds a program's elements: all but what becomes of them."""
    writer = Writer(dialect, *HEAD)
    constants(writer, shape | {"STEP": walk.step, "NESTED": bool(walk.outer_sizes)})
    declare_walk(writer, walk)
    declare_state(writer, fold.op, fold.compute)
    declare_take(writer, fold, program, walk)
    declare_many(writer, file, len(program.steps), walk.wide)
    return writer


def ended(
    opening: Writer, fold: Fold, walk: Walk, file: str, last: bool = True,
    end: Program | None = None, pairs: Pairs = (),
) -> str:  # fmt: skip
    """A whole kernel that begins so. `last`: else it leaves parts for another. Another program may
    `end` it, see epilogue.py."""
    writer = Writer(opening.dialect)
    writer.fields, writer.lines, writer.slots = {**opening.fields}, {**opening.lines}, opening.slots
    declare_rest(writer, fold, walk.many if walk.quads == "across" else 1, last, end, pairs)
    return writer.text(library.shader(file))


def second(
    fold: Fold, shape: dict[str, int | bool], file: str, dialect: Dialect,
    end: Program | None = None,
) -> str:  # fmt: skip
    """A kernel that folds the parts which the first one left."""
    writer = Writer(dialect, *HEAD)
    constants(writer, shape | {"STEP": 1, "NESTED": False})
    writer.declare("struct Base { first: u32 }")
    writer.declare("fn base(unit: u32) -> Base { return Base(unit); }")
    writer.declare("fn reach(at: Base, outer: u32) -> Base { return at; }")
    declare_state(writer, fold.op, fold.compute)
    parts = writer.bind("A", "read", "parts")
    part = f"{parts}[col * launch.rows + at.first]"
    writer.declare(f"fn take(at: Base, col: u32) -> S {{ return {part}; }}")
    declare_many(writer, file)
    declare_rest(writer, fold, 1, True, end)
    return writer.text(library.shader(file))


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


# What is taken at once


def declare_take(writer: Writer, fold: Fold, program: Program, walk: Walk) -> None:
    dialect, root = writer.dialect, program.root
    inner = element_dtype(fold.op, fold.compute)
    count = walk.many
    body, lanes = [], []
    for n, load in enumerate(program.loads):
        if load.form == DRAWN:
            lines, values = drawn(writer, n, load, walk)
        else:
            lines, values = taken(writer, n, load.dtype, walk)
        body += lines
        lanes.append(values)
    lane_function(writer, program, [root, *program.stores], "element")
    for k in range(count):
        body.append(f"let r{k} = element({', '.join(values[k] for values in lanes)});")
    body += stored(writer, program, walk)
    member = ".r0" if program.stores else ""
    step = "" if walk.quads == "across" else "{k}u"
    for k in range(count):
        value = converted(f"r{k}{member}", root.dtype, fold.compute, dialect)
        value = converted(value, fold.compute, inner, dialect)
        index = "at.first + col" + (f" + {step.format(k=k)}" if step and k else "")
        body.append(f"let e{k} = enter({value}, {index});")
    body.append(gathered(walk))
    writer.declare(function("take(at: Base, col: u32) -> S", body))


def declare_many(writer: Writer, file: str, ops: int = 0, wide: bool = False) -> None:
    """How many steps a thread takes at once, and taking them, where the shader asks for it."""
    if "take_many" not in library.shader(file):
        return
    many = (4 if wide else 8) if writer.dialect.unrolls else 1
    while many > 1 and many * ops > LONG:
        many //= 2
    steps = [f"take(at, col + {k}u * STEP)" for k in range(many)]
    writer.declare(f"const MANY = {many}u;")
    answer = f"return {paired('join', steps)};"
    writer.declare(function("take_many(at: Base, col: u32) -> S", [answer]))


def paired(join: str, values: list[str]) -> str:
    """All of them joined, neighbours first: rounding errors grow with the depth alone."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [f"{join}({a}, {b})" for a, b in pairs]
    return values[0]


def gathered(walk: Walk) -> str:
    """The end of `take`: what its elements come to."""
    if not walk.quads:
        return "return e0;"
    elements = [f"e{k}" for k in range(walk.many)]
    if walk.quads == "across":
        return f"return S({', '.join(elements)});"
    whole = paired("combine", elements)
    if not walk.ragged:
        return f"return {whole};"
    lines = [f"if col + 3u < launch.cols {{ return {whole}; }}", "var t = e0;"]
    lines += [f"if col + {k}u < launch.cols {{ t = combine(t, e{k}); }}" for k in (1, 2)]
    return "\n    ".join([*lines, "return t;"])


def stored(writer: Writer, program: Program, walk: Walk) -> list[str]:
    """Statements that keep the steps somebody waits for; their place is the last operand's."""
    body: list[str] = []
    last = len(program.loads)
    for n, step in enumerate(program.stores, 1):
        values = [f"r{k}.r{n}" for k in range(4 if walk.quads else 1)]
        if walk.quads:
            name = writer.bind(quad_type(step.dtype, writer.dialect), "read_write")
            quad = f"(({where(walk, last)}) / 4u)"
            body += write_quad(step.dtype, name, quad, values, writer.dialect)
        else:
            name = writer.bind(element_type(step.dtype, writer.dialect), "read_write")
            body += write_one(step.dtype, name, where(walk, last), values[0])
    return body


# What is left


def declare_rest(
    writer: Writer, fold: Fold, many: int, last: bool, end: Program | None = None,
    pairs: Pairs = (),
) -> None:  # fmt: skip
    """S (one state, or those of several rows), start, join and finish."""
    if many > 1:
        names = STATES[:many]
        writer.declare("struct S { " + ", ".join(f"{c}: A" for c in names) + " }")
        start = ", ".join(["nothing()"] * many)
        writer.declare(f"fn start() -> S {{ return S({start}); }}")
        both = ", ".join(f"combine(s.{c}, t.{c})" for c in names)
        writer.declare(f"fn join(s: S, t: S) -> S {{ return S({both}); }}")
        states = [f"s.{c}" for c in names]
    else:
        writer.declare("alias S = A;")
        writer.declare("fn start() -> S { return nothing(); }")
        writer.declare("fn join(s: S, t: S) -> S { return combine(s, t); }")
        states = ["s"]
    head = "finish(unit: u32, split: u32, s: S)"
    end_with = finished if end is None else partial(handed_on, end=end, pairs=pairs)
    writer.declare(function(head, end_with(writer, fold, states, last)))


def handed_on(
    writer: Writer, fold: Fold, states: list[str], last: bool, end: Program, pairs: Pairs
) -> list[str]:
    """Statements that give what is left to an epilogue."""
    declare_leave(writer, fold, 0, fold.dtypes[0])
    values, many = [f"leave0({s})" for s in states], len(states)
    declare_epilogue(writer, end, many > 1, pairs)
    if many == 1:
        return [f"store_one(unit, {values[0]});"]
    fours = [", ".join(values[k : k + 4]) for k in range(0, many, 4)]
    return [f"store4({quad_of(many, k)}, vec4f({four}));" for k, four in enumerate(fours)]


def quad_of(many: int, k: int) -> str:
    """Which quad of results is the k-th of a unit of so many rows."""
    return f"(unit * {many // 4}u + {k}u)" if many > 4 else "unit"


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
        if many > 1:
            name = writer.bind(quad_type(dtype, dialect), "read_write")
            for k in range(many // 4):
                four = values[4 * k : 4 * k + 4]
                body += write_quad(dtype, name, quad_of(many, k), four, dialect)
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
