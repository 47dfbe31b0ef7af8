"""The profiler at PyTorch's older address; it lives upstairs, and comes when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module("wgtorch.profiler.legacy"), name)


def __dir__() -> list[str]:
    return list(import_module("wgtorch.profiler.legacy").__all__)
