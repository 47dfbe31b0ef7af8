"""Functions and methods of users, under the names of wgtorch and of Tensor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import wgtorch
from wgtorch.dtype import DType, asked
from wgtorch.errors import (
    FunctionAlreadyRegisteredError,
    InvalidConfigError,
    MethodAlreadyRegisteredError,
    MethodDTypeNotSupportedError,
)
from wgtorch.registry.handles import FunctionHandle, MethodHandle
from wgtorch.registry.layers import WGTORCH, Attributes, is_name
from wgtorch.tensor import Tensor


@dataclass(frozen=True, kw_only=True)
class FunctionConfig:
    """A function for the namespace of wgtorch."""

    name: str
    fn: Callable[..., Any]
    override: bool = False  # whether it may take the place of one that exists


@dataclass(frozen=True, kw_only=True)
class MethodConfig:
    """A method for Tensor; `dtypes` are those it can be called on, all by default."""

    name: str
    fn: Callable[..., Any]
    dtypes: tuple[DType, ...] = ()
    override: bool = False


@dataclass(frozen=True)
class FunctionEntry:
    """A registered function."""

    name: str
    fn: Callable[..., Any]


@dataclass(frozen=True)
class MethodEntry:
    """A registered method."""

    name: str
    fn: Callable[..., Any]
    dtypes: tuple[DType, ...]


METHODS = Attributes(Tensor)


def checked(name: Any, fn: Any, what: str) -> None:
    if not is_name(name):
        raise InvalidConfigError(f"{what}: {name!r} is not a Python identifier")
    if not callable(fn):
        raise InvalidConfigError(f"{what}: {name} is a {type(fn).__name__}, not a function")


def register_function(name: Any, fn: Callable[..., Any] | None = None, *,
                      override: bool = False) -> Any:  # fmt: skip
    """Makes `wgtorch.NAME` exist; without `fn` a decorator. Returns a handle that can be called.

    FunctionAlreadyRegisteredError if the name is taken, unless `override`. `unregister()`
    brings back what was there, in whatever order several go.
    """
    if isinstance(name, FunctionConfig):
        name, fn, override = name.name, name.fn, name.override
    if fn is None:
        return lambda given: register_function(name, given, override=override)
    checked(name, fn, "register_function()")
    if hasattr(wgtorch, name) and not override:
        raise FunctionAlreadyRegisteredError(
            f"wgtorch.{name} exists; choose another name, or say override=True"
        )
    return FunctionHandle(name, WGTORCH.put(name, (FunctionEntry(name, fn), fn)), fn)


def limited(name: str, fn: Callable[..., Any], dtypes: tuple[DType, ...]) -> Callable[..., Any]:
    """A method that says which dtypes it knows."""

    @functools.wraps(fn)
    def call(self, *args, **given):
        if self.dtype not in dtypes:
            known = ", ".join(repr(dtype) for dtype in dtypes)
            raise MethodDTypeNotSupportedError(
                f"Tensor.{name}() knows {known}, not {self.dtype!r}; convert with .to(...)"
            )
        return fn(self, *args, **given)

    return call


def register_method(name: Any, fn: Callable[..., Any] | None = None, *,
                    dtypes: Iterable[DType] = (), override: bool = False) -> Any:  # fmt: skip
    """Makes `Tensor.NAME` exist, for some dtypes or for all; without `fn` a decorator.

    MethodAlreadyRegisteredError if the name is taken, unless `override`.
    """
    if isinstance(name, MethodConfig):
        config = name
        name, fn, dtypes, override = config.name, config.fn, config.dtypes, config.override
    if fn is None:
        return lambda given: register_method(name, given, dtypes=dtypes, override=override)
    checked(name, fn, "register_method()")
    if hasattr(Tensor, name) and not override:
        raise MethodAlreadyRegisteredError(
            f"Tensor.{name} exists; choose another name, or say override=True"
        )
    known = tuple([asked(dtype) for dtype in dtypes])
    meant = limited(name, fn, known) if known else fn
    return MethodHandle(name, METHODS.put(name, (MethodEntry(name, fn, known), meant)))


def get_function(name: str) -> FunctionEntry | None:
    """The registered function of a name."""
    entry = WGTORCH.entry(name)
    return entry if isinstance(entry, FunctionEntry) else None


def get_method(name: str) -> MethodEntry | None:
    """The registered method of a name."""
    return METHODS.entry(name)


def has_function(name: str) -> bool:
    """Whether wgtorch has a function of this name, its own or a registered one."""
    return callable(getattr(wgtorch, name, None))


def has_method(name: str) -> bool:
    """Whether Tensor has a method of this name, its own or a registered one."""
    return callable(getattr(Tensor, name, None))


def list_functions() -> list[str]:
    """The names of registered functions."""
    return sorted([name for name in WGTORCH.over if get_function(name) is not None])


def list_methods() -> list[str]:
    """The names of registered methods."""
    return sorted(METHODS.over)
