"""Merging: elements that several threads write at once, as WGSL text.

Every write is one atomic step, so each of them counts once, in an order nobody knows: integers come
out the same every time, sums of floats only up to rounding. An element narrower than a word shares
its word with neighbours, which a compare-and-exchange leaves as they are.
"""

from __future__ import annotations

from wgtorch.backends.webgpu.codegen import BOOL_AS, Writer
from wgtorch.backends.webgpu.packing import (
    decoded,
    element_type,
    encoded,
    one_writable,
    per_word,
    read_one,
    write_one,
)
from wgtorch.backends.webgpu.spelling import spelled
from wgtorch.dtype import DType, bool_, int64

REPLACE, ADD = "b", "a + b"

LOOP = """fn merge_{name}(place: u32, value: {kind}) {{
    {before}
    var old = atomicLoad(&{words}[{word}]);
    loop {{
        let next = {next};
        if next == old {{ break; }}
        let tried = atomicCompareExchangeWeak(&{words}[{word}], old, next);
        if tried.exchanged {{ break; }}
        old = tried.old_value;
    }}
}}"""

ADD_I64 = """fn merge_{name}(place: u32, value: {kind}) {{
    let parts = {parts};
    let before = atomicAdd(&{words}[2u * place], parts.x);
    let high = parts.y + select(0u, 1u, before + parts.x < before);
    if high != 0u {{ atomicAdd(&{words}[2u * place + 1u], high); }}
}}"""


def is_mergeable(dtype: DType, expression: str) -> bool:
    """Whether WGSL has the atomics; 64-bit ones it lacks, but for adding integers."""
    return dtype.itemsize < 8 or expression == REPLACE or (dtype is int64 and expression == ADD)


def declare_merger(writer: Writer, name: str, dtype: DType, expression: str) -> None:
    """`merge_NAME(place, b)` puts `expression` of b and of the element a that is there."""
    dialect = writer.dialect
    kind, many = dialect.type_of(dtype), per_word(dtype)
    if expression == REPLACE and many <= 1:
        words = writer.bind(element_type(dtype, dialect), "read_write", f"{name}_words")
        writer.declare(f"fn merge_{name}(place: u32, value: {kind}) {{ {words}[place] = value; }}")
        return
    words = writer.bind("atomic<u32>", "read_write", f"{name}_words")
    facts = {"name": name, "kind": kind, "words": words}
    if dtype.itemsize == 8:
        parts = "value" if dialect.emulates(dtype) else "words_of_i64(value)"
        writer.declare(ADD_I64.format(parts=parts, **facts))
        return
    declare_merged(writer, dtype, expression)
    if many == 1:
        next_ = f"bitcast<u32>(merged(bitcast<{kind}>(old), value))"
        writer.declare(LOOP.format(before="", word="place", next=next_, **facts))
        return
    bits = 32 // many
    mask = (1 << bits) - 1
    before = f"let word = place / {many}u;\n    let shift = {bits}u * (place % {many}u);"
    there = decoded(dtype, f"((old >> shift) & {mask}u)")
    merged = encoded(dtype, f"merged({there}, value)")
    next_ = f"(old & ~({mask}u << shift)) | ({merged} << shift)"
    writer.declare(LOOP.format(before=before, word="word", next=next_, **facts))


def declare_joiner(writer: Writer, name: str, dtype: DType, expression: str) -> None:
    """`NAME_at(place)` and `set_NAME(place, value)`, for a kernel that has a place to itself, and
    `merged(a, b)`.
    """
    dialect = writer.dialect
    kind = dialect.type_of(dtype)
    words = writer.bind(one_writable(dtype, dialect), "read_write", f"{name}_words")
    there = read_one(dtype, words, "place")
    if per_word(dtype) > 1:  # neighbours in a word belong to others
        word = f"{words}[(place) / {per_word(dtype)}u]"
        there = there.replace(word, f"atomicLoad(&{word})")
    lines = "\n    ".join(write_one(dtype, words, "place", "value"))
    writer.declare(f"fn {name}_at(place: u32) -> {kind} {{ return {there}; }}")
    writer.declare(f"fn set_{name}(place: u32, value: {kind}) {{\n    {lines}\n}}")
    declare_merged(writer, dtype, expression)


def declare_merged(writer: Writer, dtype: DType, expression: str) -> None:
    """`merged(a, b)`; bools are computed as 0 and 1."""
    kind = writer.dialect.type_of(dtype)
    if dtype is bool_ and expression != REPLACE:
        said = spelled(expression, BOOL_AS, writer.dialect)
        writer.declare(f"fn merged_i32(a: i32, b: i32) -> bool {{ return ({said}) != 0; }}")
        said = "merged_i32(i32(a), i32(b))"
    else:
        said = spelled(expression, dtype, writer.dialect)
    writer.declare(f"fn merged(a: {kind}, b: {kind}) -> {kind} {{ return {said}; }}")
