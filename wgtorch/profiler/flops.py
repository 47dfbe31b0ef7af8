"""How many floating point operations an op is, where a formula is known."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from wgtorch.storage import View

Shape = tuple[int, ...]


def product(a: Shape, b: Shape, *_: Shape) -> int:
    """Of matrices, vectors, or batches of them; a multiplication and an addition count as two."""
    rows = a if len(a) > 1 else (1, *a)
    columns = b[-1] if len(b) > 1 else 1
    batch = max(prod(rows[:-2]), prod(b[:-2]))
    return 2 * batch * rows[-2] * rows[-1] * columns


def added(_: Shape, a: Shape, b: Shape) -> int:
    return product(a, b)


def linear(x: Shape, weight: Shape, *_: Shape) -> int:
    return 2 * prod(x) * weight[0]


def elements(a: Shape, *others: Shape) -> int:
    return max([prod(a), *(prod(b) for b in others)])


FORMULAS: dict[str, Callable[..., int]] = {
    "mm": product, "bmm": product, "matmul": product, "_matmul": product, "mv": product,
    "dot": product,
    "addmm": added, "baddbmm": added, "addmv": added, "linear": linear,
    "add": elements, "mul": elements, "sub": elements, "div": elements,
}  # fmt: skip


def flops_of(name: str, args: tuple) -> int | None:
    formula = FORMULAS.get(name.removeprefix("aten::"))
    shapes = [tuple(a.layout.shape) for a in args if isinstance(a, View)]
    if formula is None or not shapes:
        return None
    try:
        return formula(*shapes)
    except (TypeError, IndexError):
        return None
