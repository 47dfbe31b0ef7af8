"""Scans as WGSL: how elements are taken, joined with what stands before them, and written."""

from __future__ import annotations

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import Writer
from wgtorch.backends.webgpu.fold_codegen import (
    HEAD as FOLD_HEAD,
)
from wgtorch.backends.webgpu.fold_codegen import (
    STATES,
    declare_leave,
    declare_many,
    declare_rest,
    declare_state,
    element_dtype,
    gathered,
)  # fmt: skip
from wgtorch.backends.webgpu.packing import (
    Dialect,
    one_writable,
    quad_type,
    write_one,
    write_quad,
)  # fmt: skip
from wgtorch.backends.webgpu.spelling import converted
from wgtorch.backends.webgpu.walk_codegen import (
    constants,
    declare_walk,
    function,
    in_turn,
    taken,
    where,
)
from wgtorch.backends.webgpu.walks import Walk
from wgtorch.settled import Fold

HEAD = ("units", "cols", "span", "rows", "splits")
FIRST = {True: "scan_fold_groups.wgsl", False: "fold_threads.wgsl"}  # by whether groups share
THREADS: dict[str, int | bool] = {"NESTED": False, "GROUP": 64}


def scan(fold: Fold, way: Walk, file: str, carries: bool, dialect: Dialect) -> str:
    """The kernel that writes results; `carries`: from what the parts before a split came to."""
    writer = Writer(dialect, *HEAD)
    constants(writer, {"STEP": way.step, "RESTARTS": restarts(fold)})
    declare_walk(writer, way)
    declare_state(writer, fold.op, fold.compute)
    lines = entered(writer, fold, way)
    declare_begin(writer, way, carries)
    for n, dtype in enumerate(fold.dtypes):
        declare_leave(writer, fold, n, dtype)
    if file == "scan_groups.wgsl":
        declare_gathering(writer, lines, 4 if way.quads else 1)
        declare_spread(writer, fold, way, 4 if way.quads else 1)
    else:
        declare_step(writer, fold, way, lines)
    return writer.text(library.shader(file))


def first(fold: Fold, way: Walk, by_groups: bool, dialect: Dialect) -> str:
    """The kernel that folds each split, and leaves parts."""
    file = FIRST[by_groups]
    writer = Writer(dialect, *(HEAD if by_groups else FOLD_HEAD))
    constants(writer, {"STEP": way.step} if by_groups else {"STEP": way.step, **THREADS})
    declare_walk(writer, way)
    declare_state(writer, fold.op, fold.compute)
    lines = entered(writer, fold, way)
    if by_groups:
        declare_gathering(writer, lines, 4 if way.quads else 1)
        name = writer.bind("A", "read_write", "parts")
        body = [f"{name}[split * launch.rows + row] = a;"]
        writer.declare(function("leave_part(row: u32, split: u32, a: A)", body))
        return writer.text(library.shader(file))
    writer.declare(function("take(at: Base, col: u32) -> S", [*lines, gathered(way)]))
    declare_many(writer, file)
    declare_rest(writer, fold, 4 if way.quads == "across" else 1, False)
    return writer.text(library.shader(file))


def parts(fold: Fold, file: str, dialect: Dialect) -> str:
    """The kernel that replaces each part by what all before it come to."""
    writer = Writer(dialect, "rows", "splits")
    declare_state(writer, fold.op, fold.compute)
    name = writer.bind("A", "read_write", "parts")
    writer.declare(f"fn part_at(i: u32) -> A {{ return {name}[i]; }}")
    writer.declare(f"fn set_part(i: u32, a: A) {{ {name}[i] = a; }}")
    return writer.text(library.shader(file))


def entered(writer: Writer, fold: Fold, way: Walk) -> list[str]:
    """Statements that declare e0 (to e3): the elements at `col` as states."""
    lines: list[str] = []
    inner, operands = element_dtype(fold.op, fold.compute), []
    for n, _ in enumerate(fold.op.inputs):
        more, values = taken(writer, n, fold.dtype, way)
        lines += more
        operands.append([converted(v, fold.dtype, inner, writer.dialect) for v in values])
    for k, values in enumerate(zip(*operands, strict=True)):
        index = "col" + (f" + {k}u" if k and way.quads == "along" else "")
        lines.append(f"let e{k} = enter({', '.join(values)}, {index});")
    return lines


def declare_begin(writer: Writer, way: Walk, carries: bool) -> None:
    """What stands before a split: S, one state or those of four rows."""
    four = way.quads == "across"
    members = ", ".join(f"{c}: A" for c in STATES[:4])
    writer.declare(f"struct S {{ {members} }}" if four else "alias S = A;")
    values = ["nothing()"] * (4 if four else 1)
    if carries:
        name = writer.bind("A", "read", "parts")
        row = "split * launch.rows + unit"
        row = f"{row} * 4u" if four else row
        values = [f"{name}[{row} + {k}u]" for k in range(len(values))]
    answer = f"S({', '.join(values)})" if four else values[0]
    writer.declare(f"fn begin(unit: u32, split: u32) -> S {{ return {answer}; }}")


def written(writer: Writer, fold: Fold, way: Walk, states: list[str]) -> list[str]:
    """Statements that write the results of states at `col`."""
    dialect, place = writer.dialect, where(way, len(fold.op.inputs))
    order = way.places[way.which[len(fold.op.inputs)]]
    lines = []
    for n, dtype in enumerate(fold.dtypes):
        values = [f"leave{n}({state})" for state in states]
        if way.quads:
            name = writer.bind(quad_type(dtype, dialect), "read_write")
            lines += write_quad(dtype, name, f"(({place}) / 4u)", in_turn(order, values), dialect)
        else:
            name = writer.bind(one_writable(dtype, dialect), "read_write")
            lines += ["{", *write_one(dtype, name, place, values[0]), "}"]
    return lines


IN_TURN = ["let t0 = combine(own, e0);"] + [
    f"let t{k} = combine(t{k - 1}, e{k});" for k in (1, 2, 3)
]
BY_PAIRS = [
    "let t0 = combine(own, e0);",
    "let pair = combine(e0, e1); let t1 = combine(own, pair);",
    "let t2 = combine(own, combine(pair, e2));",
    "let t3 = combine(own, combine(pair, combine(e2, e3)));",
]


def declare_step(writer: Writer, fold: Fold, way: Walk, lines: list[str]) -> None:
    """`step`: takes what is at `col`, writes results, returns `own` with it. Where errors add up,
    `own` starts anew every now and then, and only the results join it with all before."""
    again = restarts(fold)
    writer.declare(f"fn fresh(before: S) -> S {{ return {'empty()' if again else 'before'}; }}")
    answer = "join(before, own)" if again else "own"
    writer.declare(f"fn whole(before: S, own: S) -> S {{ return {answer}; }}")
    if way.quads == "across":
        names = STATES[:4]
        writer.declare(f"fn empty() -> S {{ return S({', '.join(['nothing()'] * 4)}); }}")
        pairs = ", ".join(f"combine(s.{c}, t.{c})" for c in names)
        lines = [*lines, "let t = join(own, S(e0, e1, e2, e3));", "let all = whole(before, t);"]
        states, answer = [f"all.{c}" for c in names], "t"
    else:
        writer.declare("fn empty() -> S { return nothing(); }")
        pairs = "combine(s, t)"
        lines = lines + (BY_PAIRS if again else IN_TURN)[: way.many]
        states = [f"whole(before, t{k})" for k in range(way.many)]
        answer = f"t{way.many - 1}"
    joined = f"S({pairs})" if way.quads == "across" else pairs
    writer.declare(f"fn join(s: S, t: S) -> S {{ return {joined}; }}")
    lines = [*lines, *written(writer, fold, way, states), f"return {answer};"]
    writer.declare(function("step(before: S, own: S, at: Base, col: u32) -> S", lines))


def restarts(fold: Fold) -> bool:
    """Whether rounding errors add up from element to element."""
    return fold.compute.is_floating_point and not fold.op.arg and not fold.op.state


def declare_gathering(writer: Writer, lines: list[str], count: int) -> None:
    """Q, the elements of a thread, each with those before it; `empty` and `total`."""
    names = STATES[:count]
    writer.declare(f"struct Q {{ {', '.join(f'{c}: A' for c in names)} }}")
    nothing = ", ".join(["nothing()"] * count)
    writer.declare(f"fn empty() -> Q {{ return Q({nothing}); }}")
    writer.declare(f"fn total(q: Q) -> A {{ return q.{names[-1]}; }}")
    sums = ["let t0 = e0;"] + [f"let t{k} = combine(t{k - 1}, e{k});" for k in range(1, count)]
    answer = f"return Q({', '.join(f't{k}' for k in range(count))});"
    writer.declare(function("gather(at: Base, col: u32) -> Q", [*lines, *sums, answer]))


def declare_spread(writer: Writer, fold: Fold, way: Walk, count: int) -> None:
    """Writes a thread's elements, joined with what stands before them."""
    states = [f"combine(before, q.{c})" for c in STATES[:count]]
    body = written(writer, fold, way, states)
    writer.declare(function("spread(before: A, q: Q, at: Base, col: u32)", body))
