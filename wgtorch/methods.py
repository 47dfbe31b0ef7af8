"""The ops as Tensor methods and operators. `methods.pyi`, generated, says so to type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch import ops as _declared  # noqa: F401  (fills REGISTRY)
from wgtorch.amp.autocast_mode import LOWERED, RAISED, casting
from wgtorch.dispatch.binder import is_number
from wgtorch.dispatch.blame import tensors_to
from wgtorch.dispatch.doors import DOORS, FACES, PUBLIC, open_doors, operator
from wgtorch.dispatch.write import inplace, public
from wgtorch.op import REGISTRY, Op
from wgtorch.storage import View


class Methods:
    __slots__ = ()
    __hash__ = object.__hash__  # defining == would take it away


def fill(tensor: type) -> None:
    """Opens every op's door, as a method of `tensor`."""
    open_doors(REGISTRY, tensor)
    for name in (*LOWERED, *RAISED):
        DOORS[name], FACES[name] = casting(name, DOORS[name]), casting(name, FACES[name])
    for op in REGISTRY.values():
        show(op, tensor)


def admit(op: Op, tensor: type) -> None:
    """Opens the doors of one op more."""
    open_doors({op.name: op}, tensor)
    show(op, tensor)


def show(op: Op, tensor: type) -> None:
    """An op whose door is open, as a function, a method and an operator."""
    name = op.name
    PUBLIC[name] = public(op)
    forms: dict[str, Callable] = {}
    if op.method:
        forms[name] = op.method(FACES[name]) if callable(op.method) else FACES[name]
    if op.inplace:
        forms[name + "_"] = inplace(op)
    for spelling in (name, *op.aliases):
        PUBLIC[spelling] = PUBLIC[name]
        for form, call in forms.items():
            setattr(Methods, form.replace(name, spelling, 1), call)
            if form != name:
                PUBLIC[form.replace(name, spelling, 1)] = tensors_to(op, call, form)
    if op.operator:
        operators(op, operator(op, tensor))


def operators(op: Op, door: Callable) -> None:
    """`a + b`, `2 + a` and `a += b` for an op that names the operator it is."""
    sign = op.operator
    if sign in COMPARED:
        door = compared(door, COMPARED[sign])
    setattr(Methods, f"__{sign}__", door)
    if sign in REFLECTED:
        setattr(Methods, f"__r{sign}__", reflected(door, REFLECTED[sign]))
        if sign == "truediv":
            Methods.__rdiv__ = Methods.__rtruediv__  # type: ignore[attr-defined]
        if op.inplace:
            setattr(Methods, f"__i{sign}__", assigning(getattr(Methods, op.name + "_")))


REFLECTED = {  # what numpy calls them
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift, "matmul": np.matmul,
}  # fmt: skip
COMPARED = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
            "gt": np.greater, "ge": np.greater_equal}  # fmt: skip


def reflected(door: Callable, ufunc: Callable) -> Callable:
    """`other + x`; with an array of numpy, what numpy makes of both."""

    def call(self, other):
        return ufunc(other, self) if type(other) is np.ndarray else door(other, self)

    return call


# numpy would make another tensor of `x += array`, where `x` is to stay the one it is
FIT_OR_BLAMED = (View, np.ndarray, list)


def assigning(door: Callable) -> Callable:
    """`x += other`; an operand that is not known may know `x`."""

    def call(self, other):
        if isinstance(other, FIT_OR_BLAMED) or is_number(other):
            return door(self, other)
        return NotImplemented

    return call


def compared(door: Callable, ufunc: Callable) -> Callable:
    def call(self, other):
        result = door(self, other)
        if result is NotImplemented and isinstance(other, np.ndarray):
            return ufunc(self, other)
        return result

    return call


def method(name: str) -> Any:
    """The op of that name, for code that must not import it from upstairs."""
    return DOORS[name]
