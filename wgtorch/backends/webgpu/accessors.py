"""Accessors are the functions through which shaders read and write tensors; they stand in front.

`NAME_at(place)` gives an element in its compute type, whatever the dtype and however it is packed;
`set_NAME(place, value)` writes one, `put_NAME(q, a, b, c, d)` four from place 4 q on, by whole
words. Where several threads may write the same, `merge_NAME(place, value)` does. `NAME_type` is the
type of an element, and `name_t(...)` the library's `name` for the type of the first input. A shader
that declares `@binding`s itself gets none.
"""

from __future__ import annotations

import re

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import LOOP, Pairs, Writer, place_function
from wgtorch.backends.webgpu.complaints import declare_report, reports
from wgtorch.backends.webgpu.epilogue import declare_epilogue
from wgtorch.backends.webgpu.fusion import Program
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
from wgtorch.backends.webgpu.spelling import converted
from wgtorch.dtype import DType, int32
from wgtorch.layout import OFFSET, PLAIN, SINGLE, Layout
from wgtorch.op import Map, Pass, Structured

Bound = tuple[str, DType]  # a buffer's name in the shader, and its dtype


def written(
    op: Structured, step: Pass, bound: list[Bound], dialect: Dialect, end: Program | None = None,
    pairs: Pairs = (),
) -> str:  # fmt: skip
    """A pass's kernel: accessors and declarations in front of the shader file. `end` takes the
    place of its store; in `pairs` a result that of an operand."""
    fields = step.fields or library.head(step.shader).get("launch", "").split()
    is_map = isinstance(op, Map)
    writer = Writer(dialect)
    for field in (*(("count", "last") if is_map else ()), *fields):
        name, _, kind = field.partition(":")
        writer.fields[name] = kind or "u32"
    body, statements = library.shader(step.shader), 0
    for declaration in (*step.front, *(step.store if end is None else ())):
        writer.declare(text_of(writer, declaration))
    reads = len(step.reads)
    if not any("@binding" in text for text in (body, *step.front)):
        for name, dtype in bound[:reads]:
            declare_reader(writer, name, dtype, op.markers.get(name, ""), name in dict(step.places))
        if is_map:
            declare_map(writer, bound[-1][1])
            if "result_type" in body:  # shaders of users say it so
                writer.declare("alias result_type = T;")
        else:
            declare_results(writer, step, bound[reads:], body)
    elif end is None:
        writer.slots = len(bound)
    else:
        writer.slots = reads
        known = len(writer.lines)
        declare_epilogue(writer, end, step.by_fours, pairs)
        added = "\n".join([*writer.lines][known:])
        statements = (library.needed(added) + added).count(";")
    if "ENDING" in body and step.shader not in library.OWN:
        writer.declare(f"const ENDING = {statements}u;")
    for name, layout in step.places:
        declare_place(writer, name, layout)
    if bound:
        declare_typed(writer, "\n".join((body, *step.front)), bound[0][1])
    if reports(body):
        declare_report(writer, body)
    if is_map:
        body += "\n" + writer.loop()
    return writer.text(body)


def text_of(writer: Writer, declaration: str) -> str:
    """Of what is put in front: WGSL, or the name of a shader file."""
    if declaration == LOOP:
        return writer.loop()
    return library.shader(declaration) if declaration.endswith(".wgsl") else declaration


def declare_results(writer: Writer, step: Pass, bound: list[Bound], body: str) -> None:
    for name, dtype in bound:
        if step.merge:
            declare = declare_merger if f"merge_{name}(" in body else declare_joiner
            declare(writer, name, dtype, step.merge)
        elif f"put_{name}(" in body:
            declare_quad_writer(writer, name, dtype)
        else:
            declare_writer(writer, name, dtype)


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
        is_float = dtype.category > 1  # NaN is true, which drivers disagree on for `!=`
        said = f"to_bool_{kind}({value})" if is_float else f"any({value} != {kind}(0))"
        kind, value = "bool", said
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
    body += write_quad(dtype, name, "q", [f"r{k}" for k in range(4)], dialect)
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
    lines = "\n    ".join(write_quad(dtype, words, "q", ["a", "b", "c", "d"], dialect))
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
        said = f"{'return ' if result else ''}{name}_{suffix}({names});"
        writer.declare(f"fn {name}_t({params}){result} {{ {said} }}")


def declare_of(writer: Writer, name: str, dtype: DType) -> None:
    """`NAME_of(x)`: an i32, as what is written there."""
    dialect = writer.dialect
    said = converted("x", int32, dtype, dialect)
    writer.declare(f"fn {name}_of(x: i32) -> {dialect.type_of(dtype)} {{ return {said}; }}")
