"""A rule takes shapes where its op takes tensors, and asks the op itself, without data.

What the op refuses, the rule refuses in the same words.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from wgtorch.create import empty
from wgtorch.dtype import DType, int64
from wgtorch.size import Size
from wgtorch.storage import View

# Markers of parameters; a rule makes tensors without data of them
Shape = Any  # sizes
Shapes = Any  # several times sizes
Indices = Any  # the sizes of a tensor of indices
DynamicShape = tuple[int | None, ...]  # None where only the data says how many


def placeholder(shape: Shape, dtype: DType | None = None) -> Any:
    return empty(tuple(shape), dtype=dtype, device="meta")


def stood_in(value: Any, said: str) -> Any:
    if value is None or not said.startswith(("Shape", "Indices")):
        return value
    if said.startswith("Shapes"):
        return [placeholder(shape) for shape in value]
    return placeholder(value, int64 if said.startswith("Indices") else None)


def shape_of(result: Any) -> Any:
    if isinstance(result, View):
        return Size(result.layout.shape)
    return tuple(shape_of(part) for part in result) if isinstance(result, tuple | list) else result


def rule(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function written on tensors; parameters that say `Shape` are given shapes."""
    signature = inspect.signature(function)

    @wraps(function)
    def infer(*args: Any, **given: Any) -> Any:
        bound = signature.bind(*args, **given)
        for name, value in bound.arguments.items():
            said = str(signature.parameters[name].annotation)
            bound.arguments[name] = stood_in(value, said)
        return shape_of(function(*bound.args, **bound.kwargs))

    return infer
