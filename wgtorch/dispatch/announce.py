"""Doors that say what comes in, for WGTORCH_DEBUG=5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.config import trace
from wgtorch.op import Op
from wgtorch.storage import View


def announced(op: Op, door: Callable) -> Callable:
    def call(*args, **attrs):
        trace(5, "op", lambda: f"{op.name}({', '.join(map(brief, args))}, {attrs})")
        return door(*args, **attrs)

    return call


def brief(value: Any) -> str:
    """Never the contents: looking at a promise would fulfil it."""
    if not isinstance(value, View):
        return str(value)
    return f"{value.dtype.name}{list(value.layout.shape)}"
