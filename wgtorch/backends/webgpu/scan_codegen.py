"""Scans as WGSL: how elements are taken, joined with what stands before them, and written."""

from __future__ import annotations

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import Writer
from wgtorch.backends.webgpu.fold_codegen import (
    FOUR,
    constants,
    declare_leave,
    declare_many,
    declare_rest,
    declare_state,
    declare_walk,
    element_dtype,
    function,
    gathered,
    taken,
    where,
)  # fmt: skip
from wgtorch.backends.webgpu.fold_codegen import (
    HEAD as FOLD_HEAD,
)
from wgtorch.backends.webgpu.packing import (
    Dialect,
    one_writable,
    quad_type,
    write_one,
    write_quad,
)  # fmt: skip
from wgtorch.backends.webgpu.spelling import converted
from wgtorch.backends.webgpu.walks import Walk
from wgtorch.settled import Fold

HEAD = ("units", "cols", "span", "rows", "splits")
FIRST = {True: "scan_fold_groups.wgsl", False: "fold_threads.wgsl"}  # by whether groups share
THREADS: dict[str, int | bool] = {"NESTED": False, "GROUP": 64}


def scan(fold: Fold, way: Walk, file: str, carries: bool, dialect: Dialect) -> str:
    """The kernel that writes results; `carries`: from what the parts before a split came to."""
    writer = Writer(dialect, *HEAD)
    constants(writer, {"STEP": way.step})
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
    writer.declare(function("take(s: S, at: Base, col: u32) -> S", [*lines, gathered(way)]))
    declare_many(writer, file)
    declare_rest(writer, fold, way.quads == "across", False)
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
    members = ", ".join(f"{c}: A" for c in FOUR)
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
    lines = []
    for n, dtype in enumerate(fold.dtypes):
        values = [f"leave{n}({state})" for state in states]
        if way.quads:
            name = writer.bind(quad_type(dtype, dialect), "read_write")
            lines += write_quad(dtype, name, f"(({place}) / 4u)", values)
        else:
            name = writer.bind(one_writable(dtype, dialect), "read_write")
            lines += ["{", *write_one(dtype, name, place, values[0]), "}"]
    return lines


def declare_step(writer: Writer, fold: Fold, way: Walk, lines: list[str]) -> None:
    """`step`: takes what is at `col`, writes results, returns what stands before the next."""
    if way.quads == "across":
        pairs = ", ".join(f"combine(s.{c}, e{k})" for k, c in enumerate(FOUR))
        lines = [*lines, f"let t = S({pairs});"]
        lines += written(writer, fold, way, [f"t.{c}" for c in FOUR])
        answer = "t"
    elif way.quads:
        lines = [*lines, "let t0 = combine(s, e0);"]
        lines += [f"let t{k} = combine(t{k - 1}, e{k});" for k in (1, 2, 3)]
        lines += written(writer, fold, way, [f"t{k}" for k in range(4)])
        answer = "t3"
    else:
        lines = [*lines, "let t = combine(s, e0);", *written(writer, fold, way, ["t"])]
        answer = "t"
    head = "step(s: S, at: Base, col: u32) -> S"
    writer.declare(function(head, [*lines, f"return {answer};"]))


def declare_gathering(writer: Writer, lines: list[str], count: int) -> None:
    """Q, the elements of a thread, each with those before it; `empty` and `total`."""
    names = FOUR[:count]
    writer.declare(f"struct Q {{ {', '.join(f'{c}: A' for c in names)} }}")
    nothing = ", ".join(["nothing()"] * count)
    writer.declare(f"fn empty() -> Q {{ return Q({nothing}); }}")
    writer.declare(f"fn total(q: Q) -> A {{ return q.{names[-1]}; }}")
    sums = ["let t0 = e0;"] + [f"let t{k} = combine(t{k - 1}, e{k});" for k in range(1, count)]
    answer = f"return Q({', '.join(f't{k}' for k in range(count))});"
    writer.declare(function("gather(at: Base, col: u32) -> Q", [*lines, *sums, answer]))


def declare_spread(writer: Writer, fold: Fold, way: Walk, count: int) -> None:
    """Writes a thread's elements, joined with what stands before them."""
    states = [f"combine(before, q.{c})" for c in FOUR[:count]]
    body = written(writer, fold, way, states)
    writer.declare(function("spread(before: A, q: Q, at: Base, col: u32)", body))
