"""How many floating point operations an op is, where a formula is known."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from wgtorch.storage import View
from wgtorch.utils.flop_counter import Shape, added, linear, product


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
