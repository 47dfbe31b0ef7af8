"""Sharing: which tensors of a file look at the same memory, and how they get back to doing so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.layout import Layout
from wgtorch.tensor import Tensor

Place = Callable[[Tensor, str], Tensor]  # a tensor, read to the cpu, and its device's name
Seen = dict[str, list]  # by name: [name of the memory, sizes, strides, offset]


def shared(tensors: dict[str, Tensor]) -> tuple[Seen, dict[str, Tensor]]:
    """(how those that share memory look at it, these memories: whole, by name).

    A memory has the name of the first tensor that shows all of it, else one of its own.
    """
    groups: dict[int, list[str]] = {}
    for name, t in tensors.items():
        if t.numel():
            groups.setdefault(id(t.storage), []).append(name)
    seen: Seen = {}
    memories: dict[str, Tensor] = {}
    for names in groups.values():
        if len(names) == 1:
            continue
        memory, whole = memory_of(names, tensors)
        memories[memory] = whole
        for name in names:
            layout = tensors[name].layout
            if name != memory:
                seen[name] = [memory, list(layout.shape), list(layout.strides), layout.offset]
    return seen, memories


def memory_of(names: list[str], tensors: dict[str, Tensor]) -> tuple[str, Tensor]:
    for name in names:
        if tensors[name].is_whole:
            return name, tensors[name]
    first = tensors[names[0]]
    memory = f"{names[0]}.memory"
    while memory in tensors:
        memory += "_"
    return memory, first.over(first.storage, Layout.contiguous((first.value.numel,)))


class Shelf:
    """The tensors of a file, each handed out on the device that it belongs to."""

    def __init__(
        self, tensors: dict[str, Tensor], seen: Any, place: Callable[[Tensor, str], Tensor]
    ):
        self.tensors, self.place = tensors, place
        self.seen = {name: (entry[0], layout_of(tensors[entry[0]], *entry[1:]))
                     for name, entry in seen.items()}  # fmt: skip
        self.memories = {memory for memory, _ in self.seen.values()}
        self.placed: dict[tuple[str, str], Tensor] = {}

    def get(self, name: str, home: str) -> Tensor:
        memory, layout = self.seen.get(name, (name, None))
        if memory not in self.memories:
            return self.place(self.tensors[name], home)
        found = self.placed.get((memory, home))
        if found is None:
            found = self.placed[memory, home] = self.place(self.tensors[memory], home)
        return found if layout is None else found.over(found.storage, layout)


def layout_of(memory: Tensor, shape: Any, strides: Any, offset: Any) -> Layout:
    """ValueError if it leaves the memory."""
    numbers = [*shape, *strides, offset]
    fits = all(type(n) is int and n >= 0 for n in numbers) and len(shape) == len(strides)
    layout = Layout.of(tuple(shape), tuple(strides), offset) if fits else None
    if layout is None or layout.extent > memory.numel():
        raise ValueError(f"sizes {shape}, strides {strides}, offset {offset} leave the memory")
    return layout
