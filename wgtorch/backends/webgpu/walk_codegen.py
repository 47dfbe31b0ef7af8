"""Walks as WGSL: where an operand has a row, and how its elements are read, one or more at once."""

from __future__ import annotations

from wgtorch.backends.webgpu.codegen import Writer, draw_quad, seed_of
from wgtorch.backends.webgpu.fusion import Load
from wgtorch.backends.webgpu.packing import (
    LANES,
    element_type,
    oct_type,
    quad_type,
    read_oct,
    read_one,
    read_quad,
)  # fmt: skip
from wgtorch.backends.webgpu.walks import Place, Walk
from wgtorch.dtype import DType


def constants(writer: Writer, values: dict[str, int | bool]) -> None:
    for name, value in values.items():
        said = str(value).lower() if isinstance(value, bool) else f"{value}u"
        writer.declare(f"const {name} = {said};")


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
    row = f"unit * {walk.many}u" if walk.quads == "across" else "unit"
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
    if place.mode == "oct":
        name = writer.bind(oct_type(dtype, dialect), "read")
        at = [f"let p{n} = ({where(walk, n)}) / 8u;"]
        lines, values = read_oct(dtype, name, f"p{n}", f"q{n}")
        return at + lines, values
    if place.mode in ("quad", "back"):
        name = writer.bind(quad_type(dtype, dialect), "read")
        lines, values = [f"let p{n} = ({where(walk, n)}) / 4u;"], []
        for k in range(walk.many // 4):
            at = f"p{n} + {k}u" if k else f"p{n}"
            more, four = read_quad(dtype, name, at, f"q{n}_{k}", dialect)
            lines, values = lines + more, values + four
        return lines, in_turn(place, values)
    name = writer.bind(element_type(dtype, dialect), "read")
    lines = [f"let p{n} = {where(walk, n)};"]
    if not walk.quads:
        return lines, [read_one(dtype, name, f"p{n}")]
    if place.mode == "same":
        lines.append(f"let x{n} = {read_one(dtype, name, f'p{n}')};")
        return lines, [f"x{n}"] * walk.many
    step = neighbour(walk, n)
    return lines, [read_one(dtype, name, f"p{n} + {k}u * {step}") for k in range(walk.many)]


def in_turn(place: Place, values: list[str]) -> list[str]:
    """The four of a quad, in the order of the columns or of memory."""
    return values[::-1] if place.mode == "back" else values


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
