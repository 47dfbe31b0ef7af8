"""Blame: which argument was no tensor, looked for only once something failed because of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import CO_VARARGS, CO_VARKEYWORDS, Parameter, Signature, signature
from typing import Any

import numpy as np

from wgtorch.op import Op
from wgtorch.parameters import VAR_POSITIONAL
from wgtorch.storage import View

ARRAYS = (np.ndarray, np.generic)


def blamed(op: Op, args: tuple, given: dict[str, Any], error: AttributeError) -> Exception:
    """PyTorch's complaint about the argument that lacks what a tensor has; else the error."""
    names = [n for n, p in op.parameters.items() if p.kind is not VAR_POSITIONAL]
    is_method = op.method and args and isinstance(args[0], View)
    return culprit(op.name.strip("_"), names, 0 if is_method else 1, args, given, error)


def culprit(name: str, names: Sequence[str], first: int, args: tuple, given: dict[str, Any],
            error: AttributeError) -> Exception:  # fmt: skip
    """The complaint about a call whose first arguments have these names, counted from `first`."""
    wrong = error.obj
    if isinstance(wrong, View):
        return error
    for place, (parameter, value) in enumerate(zip(names, args, strict=False), first):
        if is_of(wrong, value):
            return no_tensor(name, f"'{parameter}' (position {place})", value)
    for parameter, value in given.items():
        if is_of(wrong, value):
            return no_tensor(name, f"'{parameter}'", value)
    listed = (len(names), args[len(names) :])
    for number, value in (listed, *enumerate((*args, *given.values()))):
        if isinstance(value, list | tuple | str):
            for place, inner in enumerate(value):
                if inner is wrong:
                    return TypeError(
                        f"expected Tensor as element {place} in argument {number}, but got"
                        f" {type(inner).__name__}"
                    )
    return error


def is_of(wrong: Any, value: Any) -> bool:
    """Whether it is the argument, or the dtype of an array in a tensor's place."""
    return value is wrong or (isinstance(value, ARRAYS) and type(wrong) is type(value.dtype))


def tensors_to(op: Op, function: Callable, name: str = "") -> Callable:
    """The function, which says what it was given in a tensor's place."""

    def call(*args, **given):
        try:
            return function(*args, **given) if given else function(*args)
        except AttributeError as error:
            raise blamed(op, args, given, error) from None

    call.__wrapped__ = function  # type: ignore[attr-defined]  # whose signature it has
    call.__name__ = call.__qualname__ = name or function.__name__
    call.__doc__ = function.__doc__
    return call


def shown(op: Op, face: Any) -> Callable:
    """help() shows the parameters of the reference, where the face takes anything."""
    if face.__code__.co_flags & (CO_VARARGS | CO_VARKEYWORDS) and not hasattr(face, "__wrapped__"):
        face.__wrapped__ = op.reference
    return face


class WithOut:
    """Stands behind a function that also takes `out`; its signature is worked out when asked."""

    def __init__(self, function: Callable):
        self.__wrapped__ = function

    @property
    def __signature__(self) -> Signature:
        shown = signature(self.__wrapped__)
        known = dict(shown.parameters)
        known.setdefault("out", Parameter("out", Parameter.KEYWORD_ONLY, default=None))
        return shown.replace(parameters=sorted(known.values(), key=lambda p: p.kind))


def blaming(function: Callable, module: str, first: int = 1) -> Callable:
    """The same for a function of tensors that is no op, under the name it has in a module; a
    method's arguments are counted from 0."""
    code = function.__code__
    names = code.co_varnames[1 - first : code.co_argcount]

    @wraps(function)
    def call(*args, **given):
        try:
            return function(*args, **given)
        except AttributeError as error:
            name, own = function.__name__, args[1 - first :]  # without self
            raise culprit(name, names, 1, own, given, error) from None

    call.__module__ = module
    return call


def no_tensor(op: str, what: str, value: Any) -> TypeError:
    return TypeError(f"{op}(): argument {what} must be Tensor, not {type(value).__name__}")
