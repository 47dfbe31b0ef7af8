"""A computed parameter: before each forward a hook works it out from others, which are trained."""

from __future__ import annotations

from typing import Any

from wgtorch.nn.module import Module


def key_of(module: Module, kind: type, name: str) -> int | None:
    """Of the hook of that kind that computes `module.NAME`."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]
            return key
    return None


def refuse_second(module: Module, kind: type, name: str, called: str) -> None:
    if key_of(module, kind, name) is not None:
        raise RuntimeError(f"Cannot register two {called} hooks on the same parameter {name}")


def taken_off(module: Module, kind: type, name: str, called: str) -> Any:
    """The hook, which leaves its present value behind as a parameter; ValueError without one."""
    key = key_of(module, kind, name)
    if key is None:
        raise ValueError(f"{called} of '{name}' not found in {module}")
    hook: Any = module._forward_pre_hooks[key]
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return hook
