"""A tracker of modules: which ones run, forward or backward."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Self

from wgtorch import Tensor
from wgtorch.autograd.graph import register_multi_grad_hook
from wgtorch.autograd.mode import state
from wgtorch.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["ModuleTracker"]

ROOT = "Global"


class ModuleTracker:
    """In its `with` block, `parents` has "Global" and the names of the modules that now run.

    A module that is called by none is named by its class, one inside of it "CLASS.NAME". In a
    backward a module runs from the gradient of its results to those of its inputs, and to the end
    if no input wants one.
    """

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._leave()

    def _leave(self) -> None:
        self._forward: list[str] = []
        self._backward: weakref.WeakKeyDictionary[Any, list[str]] = weakref.WeakKeyDictionary()
        self._hooks: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward is under way."""
        return state.task is not None

    @property
    def parents(self) -> set[str]:
        return {ROOT, *self._forward, *(self._backward.get(state.task, ()) if self.is_bw else ())}

    def __enter__(self) -> Self:
        self._leave()
        self._hooks += [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *exception: object) -> None:
        for hook in self._hooks:
            hook.remove()
        self._leave()

    def _name(self, module: Any) -> str:
        if module not in self._known:
            self._known[module] = type(module).__name__
            self._name_children(module)
        return self._known[module]

    def _name_children(self, module: Any) -> None:
        for name, child in module.named_children():
            self._known[child] = f"{self._known[module]}.{name}"
            self._name_children(child)

    def _before(self, module: Any, inputs: Any) -> None:
        name = self._name(module)
        self._forward.append(name)

        def leave(grads: Any) -> None:
            running = self._backward.get(state.task, [])
            if name in running:
                running.remove(name)

        self._watch(inputs, leave)

    def _after(self, module: Any, inputs: Any, output: Any) -> None:
        name = self._name(module)
        if name in self._forward:
            self._forward.remove(name)
        self._watch(output, lambda grads: self._backward.setdefault(state.task, []).append(name))

    def _watch(self, values: Any, hook: Any) -> None:
        wanting = [t for t in tensors_in(values) if t.requires_grad]
        if wanting:
            self._hooks.append(register_multi_grad_hook(wanting, hook))


def tensors_in(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, Mapping):
        yield from tensors_in(list(values.values()))
    elif isinstance(values, list | tuple):
        for value in values:
            yield from tensors_in(value)
