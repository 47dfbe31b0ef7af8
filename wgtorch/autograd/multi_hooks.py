"""Hooks on several tensors at once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from wgtorch.autograd.mode import state


class MultiHandle:
    """Takes the hook off all its tensors."""

    def __init__(self, handles: Sequence[Any]):
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class _Spot:
    """Where a tensor's gradient passes, held weakly: the node may hold the hook."""

    __slots__ = ("node", "tensor")

    def __init__(self, tensor: Any):
        past = tensor.grad_fn
        self.node = None if past is None else weakref.ref(past)
        self.tensor = weakref.ref(tensor) if past is None else None

    def reached(self, task: Any) -> bool:
        if self.node is not None:
            node = self.node()
        else:
            tensor = self.tensor()  # type: ignore[misc]
            leaf = None if tensor is None else tensor._leaf
            node = leaf and leaf()
        return node is not None and task.reaches(node)


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable, *, mode: str = "all"
) -> MultiHandle:
    """Runs `fn` once in each backward.

    mode "all": `fn(grads)` when every gradient of `tensors` that this backward computes is there;
    None stands for the others. mode "any": `fn(grad)` with the first of them.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    found: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()
    spots = [_Spot(t) for t in tensors]

    def arrived(place: int, grad: Any) -> None:
        seen = found.setdefault(state.task, {})
        seen[place] = grad
        if mode == "any":
            if len(seen) == 1:
                fn(grad)
        elif len(seen) == sum(spot.reached(state.task) for spot in spots):
            grads = [seen.get(i) for i in range(len(spots))]
            seen.clear()
            fn(grads)

    def hook_for(place: int) -> Callable:
        return lambda grad: arrived(place, grad)

    return MultiHandle([t.register_hook(hook_for(i)) for i, t in enumerate(tensors)])


def increment_version(tensor: Any) -> None:
    """Counts a write to a tensor, or to each of several, that autograd did not see."""
    tensors = [tensor] if hasattr(tensor, "storage") else tensor
    for t in tensors:
        if t.storage.version < 0:
            raise RuntimeError(
                "Inference tensors do not track version counter, so it cannot be incremented."
            )
        t.storage.version += 1
