"""Containers of parameters: a list, and a dict, whose tensors become parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Self

from wgtorch import Tensor
from wgtorch.nn.container import named
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter


class Parameters(Module):
    """What ParameterList and ParameterDict share: tensors become parameters on the way in."""

    def _line(self, name: str, entry: Any) -> str:
        if not isinstance(entry, Tensor):
            return f"({name}): Object of type: {type(entry).__name__}"
        kind = "Parameter" if isinstance(entry, Parameter) else "Tensor"
        place = "" if entry.device.type == "cpu" else f" ({entry.device})"
        size = "x".join(str(n) for n in entry.shape)
        return f"({name}): {kind} containing: [{entry.dtype} of size {size}{place}]"

    def _block(self, entries: Iterable[tuple[str, Any]]) -> str:
        lines = ["  " + self._line(name, entry).replace("\n", "\n  ") for name, entry in entries]
        inside = "\n" + "\n".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__} should not be called.")


def adopted(value: Any) -> Any:
    """A tensor as a parameter; anything else as it is."""
    plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if plain else value


class ParameterList(Parameters):
    """A list whose tensors are registered as parameters."""

    def __init__(self, values: Iterable[Any] | None = None):
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def _at(self, idx: int) -> str:
        place = operator.index(idx)
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} is out of range")
        return str(place % len(self))

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, self._at(idx))

    def __setitem__(self, idx: int, value: Any) -> None:
        setattr(self, self._at(idx), adopted(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, "
                f"but got {type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def __repr__(self) -> str:
        return self._block((str(i), entry) for i, entry in enumerate(self))


class ParameterDict(Parameters):
    """A dict whose tensors are registered as parameters."""

    def __init__(self, parameters: Any = None):
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need "
                "non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._attr(key)] = None
        setattr(self, key, adopted(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def keys(self) -> Iterable[str]:
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        return [self[key] for key in self]

    def items(self) -> Iterable[tuple[str, Any]]:
        return [(key, self[key]) for key in self]

    def copy(self) -> ParameterDict:
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        return ParameterDict([(key, default) for key in keys])

    def update(self, parameters: Any) -> None:
        pairs = named(parameters, "ParameterDict")
        ordered = isinstance(parameters, (OrderedDict, ParameterDict))
        if isinstance(parameters, Mapping) and not ordered:
            pairs.sort()  # as PyTorch does with plain dicts
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict(OrderedDict(chain(self.items(), other.items())))

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return self._block(self.items())
