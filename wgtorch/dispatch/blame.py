"""Blame: which argument was no tensor, looked for only once something failed because of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.op import Op
from wgtorch.storage import View


def blamed(op: Op, args: tuple, given: dict[str, Any], error: AttributeError) -> Exception:
    """PyTorch's complaint about the argument that lacks what a tensor has; else the error."""
    culprit = error.obj
    if isinstance(culprit, View):
        return error
    name = op.name.strip("_")
    first = 0 if op.method else 1
    if op.method and args and not isinstance(args[0], View):
        first = 1
    names = [n for n, p in op.parameters.items() if p.kind is not p.VAR_POSITIONAL]
    for place, (parameter, value) in enumerate(zip(names, args, strict=False), first):
        if value is culprit:
            return no_tensor(name, f"'{parameter}' (position {place})", value)
    for parameter, value in given.items():
        if value is culprit:
            return no_tensor(name, f"'{parameter}'", value)
    for number, value in enumerate((args[len(names) :], *args, *given.values())):
        if isinstance(value, list | tuple):
            for place, inner in enumerate(value):
                if inner is culprit:
                    return TypeError(
                        f"{name}(): expected Tensor as element {place} in argument {number}, but"
                        f" got {type(inner).__name__}"
                    )
    return error


def tensors_to(op: Op, function: Callable) -> Callable:
    """The function, which says what it was given in a tensor's place."""

    def call(*args, **given):
        try:
            return function(*args, **given)
        except AttributeError as error:
            raise blamed(op, args, given, error) from None

    call.__wrapped__ = function  # type: ignore[attr-defined]  # whose signature it has
    return call


def no_tensor(op: str, what: str, value: Any) -> TypeError:
    return TypeError(f"{op}(): argument {what} must be Tensor, not {type(value).__name__}")
