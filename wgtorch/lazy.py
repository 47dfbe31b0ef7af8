"""Modules that are imported when they are first used, so that `import wgtorch` stays quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any


class Lazy:
    """`special = Lazy("scipy.special")`; with an `extra`, the error names what to install."""

    def __init__(self, name: str, extra: str = ""):
        self._name, self._extra = name, extra
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            try:
                self._module = importlib.import_module(self._name)
            except ImportError as error:
                if not self._extra:
                    raise
                raise ImportError(
                    f"{self._name} is not installed; pip install 'wgtorch[{self._extra}]'"
                ) from error
        value = getattr(self._module, attribute)
        setattr(self, attribute, value)
        return value


def later(scope: dict[str, Any], names: dict[str, str]) -> tuple[Callable, Callable]:
    """`__getattr__` and `__dir__` of the module whose globals are `scope`, for names that it takes
    from other modules, or modules of its own, when they are first asked for."""

    def found(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {scope['__name__']!r} has no attribute {name!r}")
        module = importlib.import_module(names[name])
        is_module = names[name] == f"{scope['__name__']}.{name}"
        value = scope[name] = module if is_module else getattr(module, name)
        return value

    return found, lambda: sorted({*scope, *names} - {"TYPE_CHECKING", "later"})
