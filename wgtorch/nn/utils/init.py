"""Modules made without drawing their first parameters."""

from __future__ import annotations

import inspect
from typing import Any

from wgtorch.nn.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Module:
    """`module_cls(*args, **kwargs)` with parameters and buffers that are not set.

    It is made on the meta device, then moved to `device` (cpu by default), so its constructor
    must take one and may compute nothing of its parameters but initial values.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
