"""Trees: tuples, lists and dicts, as transforms take and return them, and their leaves."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any


class Shape:
    """What a tree is but for its leaves."""

    def __init__(self, kind: Any, keys: Any, parts: list[Shape]):
        self.kind, self.keys, self.parts = kind, keys, parts
        self.count: int = sum(part.count for part in parts) if kind is not None else 1

    def filled(self, leaves: Any) -> Any:
        """The tree with other leaves, given in order."""
        return self._filled(iter(leaves))

    def _filled(self, leaves: Any) -> Any:
        if self.kind is None:
            return next(leaves)
        parts = [part._filled(leaves) for part in self.parts]
        if self.keys is not None:
            return self.kind(zip(self.keys, parts, strict=True))
        return self.kind(*parts) if hasattr(self.kind, "_fields") else self.kind(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and (self.kind, self.keys, self.parts) == (
            other.kind,
            other.keys,
            other.parts,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.filled(["*"] * self.count))


LEAF = Shape(None, None, [])


def flattened(tree: Any) -> tuple[list[Any], Shape]:
    """(the leaves in order, the rest)."""
    leaves: list[Any] = []
    return leaves, _walk(tree, leaves)


def _walk(tree: Any, leaves: list[Any]) -> Shape:
    if type(tree) in (dict, OrderedDict):
        keys = list(tree)
        return Shape(type(tree), keys, [_walk(tree[key], leaves) for key in keys])
    if type(tree) in (tuple, list) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        return Shape(type(tree), None, [_walk(part, leaves) for part in tree])
    leaves.append(tree)
    return LEAF


def mapped(change: Callable[..., Any], *trees: Any) -> Any:
    """A tree with `change` of the leaves that stand at the same place in each tree."""
    columns, shape = [], None
    for tree in trees:
        leaves, own = flattened(tree)
        shape = shape or own
        columns.append(leaves)
    assert shape is not None
    return shape.filled([change(*row) for row in zip(*columns, strict=True)])


def spread(tree: Any, shape: Shape, is_leaf: Callable[[Any], bool]) -> list[Any] | None:
    """A tree that may stop above the leaves of `shape`, as a leaf for each; None if it differs."""
    if is_leaf(tree):
        return [tree] * shape.count
    kind = type(tree)
    if shape.kind is None or kind is not shape.kind or len(tree) != len(shape.parts):
        return None
    if shape.keys is not None and set(tree) != set(shape.keys):
        return None
    parts = [tree[k] for k in shape.keys] if shape.keys is not None else list(tree)
    found: list[Any] = []
    for part, below in zip(parts, shape.parts, strict=True):
        leaves = spread(part, below, is_leaf)
        if leaves is None:
            return None
        found += leaves
    return found
