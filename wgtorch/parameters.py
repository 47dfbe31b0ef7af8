"""The parameters of functions, and what is worked out once: as `inspect` and `functools` have them,
without what takes long when it is done for each of many hundred ops."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

EMPTY, ORDINARY = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
KEYWORD_ONLY, VAR_POSITIONAL = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL
MORE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class Parameter(NamedTuple):
    """As inspect.Parameter, which checks what Python has checked."""

    name: str
    kind: Any
    default: Any
    annotation: Any


def parameters(function: Callable) -> dict[str, Parameter]:
    """What inspect.signature says of a function."""
    if type(function) is not FunctionType or hasattr(function, "__wrapped__"):
        return by_signature(function)
    code, said = function.__code__, function.__annotations__
    if code.co_flags & MORE or code.co_posonlyargcount or hasattr(function, "__signature__"):
        return by_signature(function)
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    given = function.__defaults__ or ()
    defaults = dict(zip(names[count - len(given) : count], given, strict=True))
    defaults |= function.__kwdefaults__ or {}
    return {
        name: Parameter(
            name,
            ORDINARY if n < count else KEYWORD_ONLY,
            defaults.get(name, EMPTY),
            said.get(name, EMPTY),
        )
        for n, name in enumerate(names)
    }


def by_signature(function: Callable) -> dict[str, Parameter]:
    return {
        name: Parameter(name, p.kind, p.default, p.annotation)
        for name, p in inspect.signature(function).parameters.items()
    }


class worked_out:
    """An attribute that is worked out when it is first asked for."""

    def __init__(self, work_out: Callable[[Any], Any]):
        self.work_out = work_out
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.work_out(instance)
        return value
