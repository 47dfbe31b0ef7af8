"""The ops as Tensor methods and operators. `methods.pyi`, generated, says so to type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch import ops as _declared  # noqa: F401  (fills REGISTRY)
from wgtorch.dispatch.doors import DOORS, FACES, PUBLIC, open_doors, operator
from wgtorch.dispatch.write import inplace, public
from wgtorch.op import REGISTRY, Op


class Methods:
    __slots__ = ()
    __hash__ = object.__hash__  # defining == would take it away


def fill(tensor: type) -> None:
    """Opens every op's door, as a method of `tensor`."""
    open_doors(REGISTRY, tensor)
    for name, op in REGISTRY.items():
        PUBLIC[name] = public(op)
        forms: dict[str, Callable] = {}
        if op.method:
            forms[name] = op.method(FACES[name]) if callable(op.method) else FACES[name]
        if op.inplace:
            forms[name + "_"] = PUBLIC[name + "_"] = inplace(op)
        for spelling in (name, *op.aliases):
            for form, call in forms.items():
                setattr(Methods, form.replace(name, spelling, 1), call)
        if op.operator:
            operators(op, operator(op, tensor))
    for alias, name in [(a, n) for n, op in REGISTRY.items() for a in op.aliases]:
        PUBLIC[alias] = PUBLIC[name]


def operators(op: Op, door: Callable) -> None:
    """`a + b`, `2 + a` and `a += b` for an op that names the operator it is."""
    sign = op.operator
    setattr(Methods, f"__{sign}__", door)
    if sign in REFLECTED:
        setattr(Methods, f"__r{sign}__", reflected(door))
        if op.inplace:
            setattr(Methods, f"__i{sign}__", getattr(Methods, op.name + "_"))


REFLECTED = {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor",
             "lshift", "rshift", "matmul"}  # fmt: skip


def reflected(door: Callable) -> Callable:
    return lambda self, other: door(other, self)


def method(name: str) -> Any:
    """The op of that name, for code that must not import it from upstairs."""
    return DOORS[name]
