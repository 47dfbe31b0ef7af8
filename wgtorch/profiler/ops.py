"""Ops under observation: every way by which a program reaches them leads through an event."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from wgtorch import create, random
from wgtorch.dispatch.doors import DOORS, PUBLIC
from wgtorch.methods import Methods
from wgtorch.op import REGISTRY
from wgtorch.profiler.patches import Patches, watched
from wgtorch.tensor import Tensor

OWN = {"to": "to", "clone": "clone", "copy_": "copy_", "fill_": "fill_", "zero_": "zero_",
       "item": "item", "numpy": "numpy", "tolist": "tolist"}  # fmt: skip
MAKERS = ("arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "logspace",
          "normal", "ones", "ones_like", "rand", "rand_like", "randint", "randint_like", "randn",
          "randn_like", "randperm", "tensor", "zeros", "zeros_like")  # fmt: skip


def watch_ops(patches: Patches) -> None:
    seen: dict[int, Callable] = {}

    def watch(name: str, call: Any) -> Any:
        key = id(call)
        if key not in seen:
            seen[key] = watched(f"aten::{name}", call)
        return seen[key]

    signs = {sign_of(op): name for name, op in REGISTRY.items() if getattr(op, "operator", None)}
    for form, call in list(vars(Methods).items()):
        if isinstance(call, FunctionType) and form != "__hash__":
            patches.put(Methods, form, watch(name_of(form, signs), call))
    for name, form in OWN.items():
        patches.put(Tensor, name, watch(form, getattr(Tensor, name)))
    for name, door in list(DOORS.items()):
        new = watch(name, door)
        if hasattr(door, "at"):
            new.at = watched("aten::_to_copy", door.at)
        patches.put(DOORS, name, new)
    functions = {id(call): watch(name, call) for name, call in PUBLIC.items()}
    for name in MAKERS:
        for home in (create, random):
            if hasattr(home, name):
                call = getattr(home, name)
                functions[id(call)] = watch(name, call)
    for module, name, call in exported(functions):
        patches.put(module, name, functions[id(call)])


def sign_of(op: Any) -> str:
    return op.operator


def name_of(form: str, signs: dict[str, str]) -> str:
    """`__radd__` is add, `__iadd__` is add_."""
    if not form.startswith("__"):
        return form
    sign = form.strip("_")
    if sign in signs:
        return signs[sign]
    if sign[0] in "ri" and sign[1:] in signs:
        return signs[sign[1:]] + ("_" if sign[0] == "i" else "")
    return sign


def exported(functions: dict[int, Callable]) -> Iterator[tuple[ModuleType, str, Any]]:
    """Where modules, users' too, have these functions among their names."""
    for module in list(sys.modules.values()):
        if not isinstance(module, ModuleType) or module is sys.modules[__name__]:
            continue
        for name, value in list(vars(module).items()):
            if type(value) is FunctionType and id(value) in functions:
                yield module, name, value
