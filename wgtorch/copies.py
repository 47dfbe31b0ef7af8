"""Copies: what a view shows, in memory of its own, with gradients: `expand_copy` is expand, copied.

Each takes what its view takes (see Tensor's method of that name), and writes to `out` if given one,
or several where there are several results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.dispatch.doors import PUBLIC
from wgtorch.later import COPIES
from wgtorch.tensor import Tensor

SEVERAL = ("split", "split_with_sizes", "unbind")  # views of these make several tensors


def put(out: Tensor | None, value: Tensor) -> Tensor:
    """The value, copied; or `out`, holding it."""
    return value.clone() if out is None else out.resize_(value.shape).copy_(value)


def copying(name: str) -> Callable[..., Any]:
    view = getattr(Tensor, name)

    def call(input: Tensor, *args: Any, out: Tensor | None = None, **given: Any) -> Tensor:
        return put(out, view(input, *args, **given))

    return named(call, name, f"What `Tensor.{name}` shows, in memory of its own.")


def copying_all(name: str) -> Callable[..., Any]:
    views = PUBLIC[name]

    def call(input: Tensor, *args: Any, out: Any = None, **given: Any) -> tuple[Tensor, ...] | None:
        parts = views(input, *args, **given)
        if out is None:
            return tuple(part.clone() for part in parts)
        if len(out) != len(parts):
            raise RuntimeError(
                f"{name}_copy_out() expected an out= argument of length {len(parts)}, got"
                f" {len(out)}"
            )
        for place, part in zip(out, parts, strict=True):
            put(place, part)
        return None

    return named(call, name, f"What `{name}` shows, each in memory of its own.")


def named(call: Callable, name: str, doc: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = f"{name}_copy"
    call.__doc__ = doc
    return call


def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tensor, in memory of its own."""
    return put(out, input)


def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Every step-th element along dim, from start up to end, in memory of their own."""
    return put(out, input._slice(dim, start, end, step))  # type: ignore[attr-defined]


VIEWS = [name.removesuffix("_copy") for name in COPIES if name not in globals()]
MADE = {f"{name}_copy": (copying_all if name in SEVERAL else copying)(name) for name in VIEWS}


def __getattr__(name: str) -> Any:
    if name not in MADE:
        raise AttributeError(f"module 'wgtorch.copies' has no attribute {name!r}")
    return MADE[name]
