"""Layers: what users put over what there is; the topmost counts, and any may be lifted at any time.

All overrides are such layers: of gradients, of the names of wgtorch, Tensor and the dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from keyword import iskeyword
from typing import Any

import wgtorch

ABSENT = object()


class Layers:
    """By key. `read(key)` is what lies under all layers, and `write(key, that, layers)` makes the
    rest of the library see what lies on it; both keep no layer for themselves."""

    def __init__(
        self, read: Callable[[Any], Any], write: Callable[[Any, Any, list[Any]], None]
    ) -> None:
        self.read, self.write = read, write
        self.under: dict[Any, Any] = {}
        self.over: dict[Any, list[Any]] = {}  # the topmost last

    def put(self, key: Any, layer: Any) -> Callable[[], None]:
        """Lays one on top. What comes back lifts it again."""
        if key not in self.over:
            self.under[key], self.over[key] = self.read(key), []
        self.over[key].append(layer)
        self.write(key, self.under[key], self.over[key])
        return partial(self.lift, key, layer)

    def lift(self, key: Any, layer: Any) -> None:
        left = self.over[key] = [other for other in self.over[key] if other is not layer]
        self.write(key, self.under[key], left)
        if not left:
            del self.over[key], self.under[key]


class Attributes(Layers):
    """Of a module or a class: layers are pairs of what was registered, and what the name means."""

    def __init__(self, owner: Any):
        super().__init__(lambda name: vars(owner).get(name, ABSENT), self.set)
        self.owner = owner

    def set(self, name: str, own: Any, layers: list[Any]) -> None:
        meant = layers[-1][1] if layers else own
        if meant is not ABSENT:
            setattr(self.owner, name, meant)
        elif name in vars(self.owner):
            delattr(self.owner, name)

    def entry(self, name: str) -> Any:
        """What was registered under a name and counts; None if nothing was."""
        return self.over[name][-1][0] if name in self.over else None


WGTORCH = Attributes(wgtorch)


def is_name(name: Any) -> bool:
    """Whether Python code can say it."""
    return isinstance(name, str) and name.isidentifier() and not iskeyword(name)
