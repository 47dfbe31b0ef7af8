"""Hooks on tensors and nodes: handles that take them out again, and the order they run in."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Any

from wgtorch.storage import View


class RemovableHandle:
    """Takes a hook out of the dict it was entered into; also the end of a `with` block does."""

    next_id = count()

    def __init__(self, hooks: OrderedDict[int, Any], *, extra_dict: Any = None):
        self.hooks_ref = weakref.ref(hooks)
        self.id = next(RemovableHandle.next_id)
        extras = extra_dict if isinstance(extra_dict, list | tuple) else (extra_dict,)
        self.extra_refs = [weakref.ref(extra) for extra in extras if extra is not None]

    @classmethod
    def hung(cls, hooks: OrderedDict[int, Callable], hook: Callable) -> RemovableHandle:
        handle = cls(hooks)
        hooks[handle.id] = hook
        return handle

    def remove(self) -> None:
        for reference in (self.hooks_ref, *self.extra_refs):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.hooks_ref(), self.id, [reference() for reference in self.extra_refs]

    def __setstate__(self, state: tuple) -> None:
        """Of a copy: it takes the hook out of the copied dict."""
        hooks, self.id, extras = state
        self.hooks_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_refs = [weakref.ref(extra) for extra in extras if extra is not None]

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def run_tensor_hooks(hooks: OrderedDict[int, Callable], grad: Any) -> Any:
    """Each hook sees the gradient, and may return another in its place."""
    for hook in list(hooks.values()):
        answer = hook(grad)
        if answer is not None:
            grad = checked(hook, grad, answer)
    return grad


def run_prehooks(hooks: OrderedDict[int, Callable], grads: tuple) -> tuple:
    for hook in list(hooks.values()):
        answer = hook(grads)
        if answer is not None:
            grads = checked_all(hook, grads, answer)
    return grads


def run_posthooks(hooks: OrderedDict[int, Callable], inputs: tuple, outputs: tuple) -> tuple:
    for hook in list(hooks.values()):
        answer = hook(inputs, outputs)
        if answer is not None:
            inputs = checked_all(hook, inputs, answer)
    return inputs


def checked_all(hook: Callable, grads: tuple, answers: Any) -> tuple:
    if isinstance(answers, View):
        answers = (answers,)
    if not isinstance(answers, tuple | list):
        raise TypeError(f"expected tuple, but hook returned '{type(answers).__name__}'")
    if len(answers) != len(grads):
        raise RuntimeError(
            f"hook '{name_of(hook)}' has returned an incorrect number of values"
            f" (got {len(answers)}, but expected {len(grads)})"
        )
    pairs = zip(grads, answers, strict=True)
    return tuple([checked(hook, grad, answer) for grad, answer in pairs])


def checked(hook: Callable, grad: Any, answer: Any) -> Any:
    """What a hook returned, if it can stand for the gradient it was given."""
    if answer is grad or answer is None:
        return answer
    if not isinstance(answer, View):
        raise TypeError(f"expected Tensor, but hook returned '{type(answer).__name__}'")
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if answer.layout.shape != grad.layout.shape:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the size of value:"
            f" {list(grad.layout.shape)} became {list(answer.layout.shape)}"
        )
    if answer.storage.value.dtype is not grad.storage.value.dtype:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the type of value"
            f" (was {grad.dtype} got {answer.dtype})"
        )
    return answer


def name_of(hook: Callable) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
