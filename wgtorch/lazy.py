"""A module that is imported when it is first used, so that `import wgtorch` stays quick."""

from __future__ import annotations

import importlib
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
