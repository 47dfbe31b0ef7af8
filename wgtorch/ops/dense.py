"""A dense product is one whose sides are strided matrices: matmul and its family on a GPU."""

from __future__ import annotations

from typing import Any, NamedTuple

from wgtorch.dtype import DType, int64
from wgtorch.layout import Layout
from wgtorch.op import Facts, Pass
from wgtorch.ops.product import MAX_GROUPS, Addend, Product, Result, eight_as_one, launched
from wgtorch.ops.readers import FLOATS, Matrix, batch_axes, strided


class Side(NamedTuple):
    """An input, as a batch of matrices."""

    buffer: str
    dtype: DType
    layout: Layout


class Sum(NamedTuple):
    """alpha * product + beta * the addend, which has the shape of the result."""

    side: Side
    alpha: float = 1
    beta: float = 1


def dense(facts: Facts, x: Side, y: Side, sum: Sum | None = None) -> list[Pass]:
    """The passes of x @ y; the sides have the result's batch axes."""
    if not facts.out.numel:
        return []
    *batch, m, k = x.layout.shape
    n = y.layout.shape[-1]
    if facts.out_dtypes[0] not in FLOATS:
        return [by_element(facts, x, y, tuple(batch), (m, n, k))]
    layouts = [x.layout, y.layout, *([sum.side.layout] if sum else [])]
    batches, inner, moves = batch_axes(tuple(batch), *layouts)
    x_matrix = matrix(x.layout, moves[0], (-2, -1))
    y_matrix = matrix(y.layout, moves[1], (-1, -2))
    swapped = better_swapped(m, n, facts.traits)
    addend = added(sum, moves[2], swapped) if sum else None
    if swapped:
        x, y, x_matrix, y_matrix, m, n = y, x, y_matrix, x_matrix, n, m
    result = Result(facts.out_dtypes[0], fours(m, n, swapped), swapped, addend)
    return Product(
        m, n, k, batches, inner,
        strided("x", 0, x.buffer, x.dtype, x_matrix, (m, k), (batches, inner)),
        strided("y", 1, y.buffer, y.dtype, y_matrix, (n, k), (batches, inner)),
        result, facts.out.numel,
    ).passes(facts.traits)  # fmt: skip


def fours(m: int, n: int, swapped: bool) -> bool:
    return n % 4 == 0 and (not swapped or m == 1)


def better_swapped(m: int, n: int, traits: Any) -> bool:
    """Whether to compute the transposed result: eight lanes want columns, vectors want rows."""
    if traits.is_software:
        return eight_as_one(traits) and n < 32 and m > n
    return m == 1 and n > 1


def matrix(layout: Layout, moves: tuple[int, int], axes: tuple[int, int]) -> Matrix:
    """`axes`: that along which rows (columns of y) are counted, and that of k. An axis of one
    element has no stride that matters."""
    step, k = (0 if layout.shape[a] == 1 else layout.strides[a] for a in axes)
    return Matrix(layout.offset, *moves, step, k)


def added(sum: Sum, moves: tuple[int, int], swapped: bool) -> Addend:
    side, layout = sum.side, sum.side.layout
    numbers: dict[str, float] = {"z_offset": layout.offset, "z_far": moves[0], "z_near": moves[1]}
    row, col = layout.strides[-2:] if not swapped else layout.strides[:-3:-1]
    numbers |= {"z_row": row, "z_col": col}
    scaled = (sum.alpha, sum.beta) != (1, 1)
    if scaled:
        numbers |= {"alpha:f32": sum.alpha, "beta:f32": sum.beta}
    return Addend(side.buffer, side.dtype, scaled, numbers)


# Integers, and float64 where there is one


def by_element(
    facts: Facts, x: Side, y: Side, batch: tuple[int, ...], sizes: tuple[int, int, int]
) -> Pass:
    dtype, count = facts.out_dtypes[0], facts.out.numel
    _, inner, moves = batch_axes(batch, x.layout, y.layout)
    numbers: dict[str, float] = dict(zip(("m", "n", "k"), sizes, strict=True))
    numbers |= {"count": count, "inner": inner}
    numbers |= matrix(x.layout, moves[0], (-2, -1)).named("x")
    numbers |= matrix(y.layout, moves[1], (-1, -2)).named("y")
    front = [*arithmetic(x.buffer, y.buffer, dtype, facts.traits)]
    groups = (min(-(-count // 64), MAX_GROUPS), 1, 1)
    return launched("matmul_any.wgsl", groups, numbers, [x.buffer, y.buffer], "result", front)


def arithmetic(x: str, y: str, dtype: DType, traits: Any) -> tuple[str, ...]:
    """Declares T, x_at, y_at, multiply_add, add and keep over inputs of one dtype."""
    emulated = dtype is int64 and not traits.int64
    kind = "vec2<u32>" if emulated else dtype.wgsl
    sum = "i64_add(a, b)" if emulated else "a + b"
    product = "i64_mul(a, b)" if emulated else "a * b"
    return (
        f"alias T = {kind};",
        f"fn x_at(place: u32) -> T {{ return {x}_at(place); }}",
        f"fn y_at(place: u32) -> T {{ return {y}_at(place); }}",
        f"fn add(a: T, b: T) -> T {{ return {sum}; }}",
        f"fn multiply_add(total: T, a: T, b: T) -> T {{ return add(total, {product}); }}",
        "fn keep(i: u32, value: T) { set_result(i, value); }",
    )
