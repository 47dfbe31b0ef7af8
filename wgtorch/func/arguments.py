"""The arguments that a transform differentiates by, and what it says of wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.autograd.transforms import trees
from wgtorch.storage import View

Argnums = int | tuple[int, ...]


def chosen(args: tuple, argnums: Argnums) -> tuple:
    """The arguments at those places, always as a tuple."""
    return tuple([args[i] for i in places(argnums, len(args))])


def places(argnums: Argnums, count: int) -> tuple[int, ...]:
    if isinstance(argnums, bool) or not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    several = argnums if isinstance(argnums, tuple) else (argnums,)
    found = []
    for argnum in several:
        if not isinstance(argnum, int):
            raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
        if not -count <= argnum < count:
            raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
        found.append(argnum % count)
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) < len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(found)


def replaced(args: tuple, argnums: Argnums, new: tuple) -> tuple:
    """The arguments with others at those places."""
    out = list(args)
    for place, value in zip(places(argnums, len(args)), new, strict=True):
        out[place] = value
    return tuple(out)


def as_asked(parts: tuple, argnums: Argnums) -> Any:
    """One value for an int, a tuple for several."""
    return parts if isinstance(argnums, tuple) else parts[0]


def changed(tree: Any, change: Callable[[Any], Any]) -> Any:
    """A tree with every tensor changed."""
    return trees.mapped(lambda leaf: change(leaf) if isinstance(leaf, View) else leaf, tree)


def with_aux(api: str, output: Any, has_aux: bool) -> tuple[Any, Any]:
    """(what is differentiated, the rest)."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return output


def tensors_only(api: str, output: Any) -> tuple[list[Any], trees.Shape]:
    """The leaves of an output, which must all be tensors; and the rest of it."""
    if not isinstance(output, View | tuple | list | dict):
        raise RuntimeError(
            f"{api}: Expected output of f to be a Tensor or Tensors, got {type(output)}"
        )
    leaves, shape = trees.flattened(output)
    if not leaves:
        raise RuntimeError(f"{api}: Expected output of f to be a non-empty tuple of Tensors.")
    for leaf in leaves:
        if not isinstance(leaf, View):
            raise RuntimeError(
                f"{api}: Expected output of f to be a Tensor or Tensors, got {type(leaf)} as an"
                f" output"
            )
    return leaves, shape
