"""An Epilogue is a chain of elementwise ops that ends a kernel with results of its own, as text.

The kernel hands each quad, or each element where they do not lie by fours, to a function that
otherwise stores it.
"""

from __future__ import annotations

from wgtorch.backends.webgpu.codegen import (
    Pairs,
    Writer,
    lane_function,
    load_one,
    load_quad,
    quad_body,
)  # fmt: skip
from wgtorch.backends.webgpu.fusion import JOINED, Load, Program
from wgtorch.backends.webgpu.packing import (
    LANES,
    ROUNDED,
    one_writable,
    write_one,
)  # fmt: skip
from wgtorch.dtype import DType


def declare_epilogue(writer: Writer, program: Program, by_fours: bool, pairs: Pairs = ()) -> None:
    """Declares `store4(q, v)`, or `store_one(i, x)`: the program, run on what is to be stored. In
    `pairs`, (store, load), a result goes where an operand is; by fours only."""
    if by_fours:
        body = quad_body(writer, program, pairs, quad)
        declare(writer, "store4(q: u32, v: vec4f)", body)
    else:
        by_element(writer, program)


def by_element(writer: Writer, program: Program) -> None:
    loads = [one(writer, n, load) for n, load in enumerate(program.loads)]
    lane_function(writer, program, program.stores)
    body = [line for lines, _ in loads for line in lines]
    body.append(f"let r = lane({', '.join(value for _, value in loads)});")
    several = len(program.stores) > 1
    for n, step in enumerate(program.stores):
        name = writer.bind(one_writable(step.dtype, writer.dialect), "read_write")
        lines = write_one(step.dtype, name, "i", f"r.r{n}" if several else "r")
        body += ["{", *lines, "}"]  # each has names of its own
    declare(writer, "store_one(i: u32, x: f32)", body)


def declare(writer: Writer, head: str, body: list[str]) -> None:
    writer.declare(f"fn {head} {{\n    " + "\n    ".join(body) + "\n}")


def quad(writer: Writer, index: int, load: Load, access: str) -> tuple[list[str], list[str]]:
    if load.form != JOINED:
        return load_quad(writer, index, load, access)
    return [], [rounded(load.dtype, f"v.{lane}") for lane in LANES]


def one(writer: Writer, index: int, load: Load) -> tuple[list[str], str]:
    if load.form != JOINED:
        return load_one(writer, index, load)
    return [], rounded(load.dtype, "x")


def rounded(dtype: DType, value: str) -> str:
    """The number that would have been stored."""
    return ROUNDED[dtype].format(value) if dtype in ROUNDED else value
