"""Handles: what every registration gives back, and takes itself out again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Handle:
    """`unregister()` undoes a registration, once; so does the end of a `with` block."""

    def __init__(self, name: str, undo: Callable[[], None]):
        self.name, self._undo = name, undo
        self.active = True

    def unregister(self) -> None:
        """Undoes the registration. Doing so twice is no error."""
        if self.active:
            self.active = False
            self._undo()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *told: object) -> None:
        self.unregister()

    def __repr__(self) -> str:
        state = "registered" if self.active else "unregistered"
        return f"<{type(self).__name__} {self.name!r}: {state}>"


class KernelHandle(Handle):
    """Of a kernel."""


class ScalarKernelHandle(KernelHandle):
    """Of a kernel for an operand that is a Python number."""


class AutogradHandle(Handle):
    """Of a gradient formula."""


class FunctionHandle(Handle):
    """Of a function or an op; calling it calls that."""

    def __init__(self, name: str, undo: Callable[[], None], call: Callable[..., Any]):
        super().__init__(name, undo)
        self._call = call
        self.__doc__ = call.__doc__

    def __call__(self, *args: Any, **given: Any) -> Any:
        return self._call(*args, **given)


class MethodHandle(Handle):
    """Of a method of Tensor."""
