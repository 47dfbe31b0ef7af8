"""Containers of modules: in a row that is called, in a list, or by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from wgtorch.nn.module import Module


class Row(Module):
    """Modules called "0", "1", ..., addressed as a list is."""

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__()
        self.extend(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return self._cut(list(self._modules.items())[idx])
        return self._modules[self._name(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._name(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        names = list(self._modules)[idx] if isinstance(idx, slice) else [self._name(idx)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def _cut(self, items: list[tuple[str, Module]]) -> Any:
        return type(self)([module for _, module in items])

    def _name(self, idx: int) -> str:
        place, count = operator.index(idx), len(self)
        if not -count <= place < count:
            raise IndexError(f"index {place} is out of range")
        return list(self._modules)[place % count]

    def _renumber(self, modules: list[Module]) -> None:
        self._modules.clear()
        self.extend(modules)

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, "
                f"but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key: int | slice) -> Any:
        taken = self[key]
        del self[key]
        return taken

    def __add__(self, other: Iterable[Module]) -> Any:
        return type(self)([*self, *other])

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)


class ModuleList(Row):
    """A list of modules that are registered as children; it has no `forward`."""

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__(() if modules is None else modules)

    def __repr__(self) -> str:
        lines: list[str] = []
        reprs = [repr(module) for module in self]
        start = 0
        while start < len(reprs):
            end = start
            while end + 1 < len(reprs) and reprs[end + 1] == reprs[start]:
                end += 1
            count = end - start + 1
            name = f"({start}): " if count == 1 else f"({start}-{end}): {count} x "
            lines.append(name + reprs[start].replace("\n", "\n  "))
            start = end + 1
        inside = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"


class Sequential(Row):
    """Calls its modules one after the other. Takes modules, or one dict of named modules."""

    def __init__(self, *args: Any):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _cut(self, items: list[tuple[str, Module]]) -> Any:
        return type(self)(dict(items))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, "
                f"but {type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, "
                f"but {type(other)} is given."
            )
        return self.extend(other)

    def __mul__(self, other: int) -> Any:
        return Sequential(*list(self) * self._times(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(list(self) * (self._times(other) - 1))

    def _times(self, other: int) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other


class ModuleDict(Module):
    """Modules by name, as a dict is; it has no `forward`."""

    def __init__(self, modules: Any = None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Module:
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Module]]:
        return self._modules.items()

    def values(self) -> Iterable[Module]:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        for key, module in named(modules, type(self).__name__):
            self[key] = module


def named(entries: Any, who: str) -> list[tuple[str, Any]]:
    """(name, entry) pairs of a mapping or of an iterable of pairs."""
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{who}.update should be called with an iterable of key/value pairs, "
            f"but got {type(entries).__name__}"
        )
    if hasattr(entries, "items"):
        return list(entries.items())
    pairs = [tuple(entry) for entry in entries]
    for number, pair in enumerate(pairs):
        if len(pair) != 2:
            raise ValueError(
                f"{who} update sequence element #{number} has length {len(pair)}; 2 is required"
            )
    return pairs
