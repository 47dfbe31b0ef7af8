"""Hooks of modules: functions that run around `forward`, and around its backward."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wgtorch import Tensor, is_grad_enabled
from wgtorch.autograd import Function
from wgtorch.autograd.hooks import RemovableHandle

Table = OrderedDict[int, Callable]


def hung(hooks: Table, hook: Callable, first: bool = False) -> RemovableHandle:
    """`hook` entered into `hooks`, last or first, and the handle that takes it out again."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle


class OfModule:
    """A hook that gets its module as first argument, and does not keep it alive."""

    def __init__(self, hook: Callable, module: Any):
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module(), *args)

    def __reduce__(self) -> tuple:
        return OfModule, (self.hook, self.module())


class Hooks:
    """What to run around a module's call; `EVERYWHERE` are those of all modules."""

    def __init__(self) -> None:
        self._forward_pre_hooks: Table = OrderedDict()
        self._forward_hooks: Table = OrderedDict()
        self._backward_pre_hooks: Table = OrderedDict()
        self._backward_hooks: Table = OrderedDict()
        self._hooks_with_kwargs: set[int] = set()
        self._hooks_always_called: set[int] = set()

    @property
    def _hooked(self) -> bool:
        return bool(
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
        )

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)` before `forward`; what it returns (not None) replaces args.

        With `with_kwargs`: `hook(module, args, kwargs)`, returning None or (args, kwargs).
        """
        handle = hung(self._forward_pre_hooks, hook, prepend)
        if with_kwargs:
            self._hooks_with_kwargs.add(handle.id)
        return handle

    def register_forward_hook(
        self,
        hook: Callable,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """`hook(module, args, output)` after `forward`; what it returns replaces the output.

        With `with_kwargs`: `hook(module, args, kwargs, output)`. With `always_call` it runs
        even if `forward` raised.
        """
        handle = hung(self._forward_hooks, hook, prepend)
        if with_kwargs:
            self._hooks_with_kwargs.add(handle.id)
        if always_call:
            self._hooks_always_called.add(handle.id)
        return handle

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """`hook(module, grad_output)` before the module's backward; may return a new one."""
        return hung(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` after it; may return a new grad_input."""
        return hung(self._backward_hooks, hook, prepend)


EVERYWHERE = Hooks()
register_module_forward_pre_hook = EVERYWHERE.register_forward_pre_hook
register_module_forward_hook = EVERYWHERE.register_forward_hook
register_module_full_backward_pre_hook = EVERYWHERE.register_full_backward_pre_hook
register_module_full_backward_hook = EVERYWHERE.register_full_backward_hook


class Call:
    """One call of a module that has hooks."""

    def __init__(self, module: Any, args: tuple, kwargs: dict[str, Any]):
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.done: set[int] = set()

    def run(self) -> Any:
        try:
            self.before()
            crossing = Crossing(self.module)
            if crossing.watched:
                self.args = crossing.enter(self.args)
            self.result = self.module.forward(*self.args, **self.kwargs)
            for key, hook, with_kwargs in self.forward_hooks():
                self.done.add(key)
                self.after(hook, with_kwargs)
            return crossing.leave(self.result) if crossing.watched else self.result
        except Exception:
            self.clean_up()
            raise

    def before(self) -> None:
        for hooks in (EVERYWHERE, self.module):
            for key, hook in list(hooks._forward_pre_hooks.items()):
                if key in hooks._hooks_with_kwargs:
                    changed = hook(self.module, self.args, self.kwargs)
                    if changed is None:
                        continue
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of "
                            f"(new_args, new_kwargs), but got {changed}."
                        )
                    self.args, self.kwargs = changed
                else:
                    changed = hook(self.module, self.args)
                    if changed is not None:
                        self.args = changed if isinstance(changed, tuple) else (changed,)

    def forward_hooks(self) -> Iterator[tuple[int, Callable, bool]]:
        for hooks in (EVERYWHERE, self.module):
            for key, hook in list(hooks._forward_hooks.items()):
                yield key, hook, key in hooks._hooks_with_kwargs

    def after(self, hook: Callable, with_kwargs: bool) -> None:
        kwargs = (self.kwargs,) if with_kwargs else ()
        changed = hook(self.module, self.args, *kwargs, self.result)
        if changed is not None:
            self.result = changed

    def clean_up(self) -> None:
        """Something raised: run the hooks that are always called and were not yet."""
        always = EVERYWHERE._hooks_always_called | self.module._hooks_always_called
        for key, hook, with_kwargs in self.forward_hooks():
            if key in always and key not in self.done:
                try:
                    self.after(hook, with_kwargs)
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {error}",
                        stacklevel=4,
                    )


class Gate(Function):
    """Lets tensors through; `watch` sees, and may change, their gradients on the way back."""

    @staticmethod
    def forward(ctx: Any, watch: Callable, materialize: bool, *tensors: Tensor) -> tuple:
        ctx.watch = watch
        ctx.set_materialize_grads(materialize)
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple:
        return None, None, *ctx.watch(grads)


class Crossing:
    """The way of gradients through one call: in at its outputs, out at its inputs."""

    def __init__(self, module: Any):
        self.module = module
        self.pre_hooks = [*EVERYWHERE._backward_pre_hooks.values()]
        self.pre_hooks += module._backward_pre_hooks.values()
        self.hooks = [*EVERYWHERE._backward_hooks.values(), *module._backward_hooks.values()]
        self.watched = bool(self.hooks or self.pre_hooks)
        self.inputs = 0
        self.reaches_inputs = False
        self.grad_outputs: tuple | None = None

    def enter(self, args: tuple) -> tuple:
        self.inputs = len(args)
        gated = through(args, self.leave_backward, True)
        self.reaches_inputs = gated is not args
        return gated

    def leave(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple "
                f"of Tensors but received {type(result)}",
                stacklevel=4,
            )
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        gated = through(outputs, self.enter_backward, False)
        return gated if isinstance(result, tuple) else gated[0]

    def enter_backward(self, grads: tuple) -> tuple:
        for hook in self.pre_hooks:
            changed = hook(self.module, grads)
            if changed is not None:
                grads = same_number("pre hook", "grad_output", changed, grads)
        if self.reaches_inputs:
            self.grad_outputs = grads
            return grads
        if self.hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients.",
                stacklevel=5,
            )
        for hook in self.hooks:
            changed = hook(self.module, (None,) * self.inputs, grads)
            if changed is not None and not (
                isinstance(changed, tuple) and all(g is None for g in changed)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        return grads

    def leave_backward(self, grads: tuple) -> tuple:
        if self.grad_outputs is None:  # reached by another way than through our outputs
            return grads
        for hook in self.hooks:
            changed = hook(self.module, grads, self.grad_outputs)
            if changed is not None:
                grads = same_number("hook", "grad_input", changed, grads)
        self.grad_outputs = None
        return grads


def through(values: tuple, watch: Callable[[tuple], tuple], materialize: bool) -> tuple:
    """`values` with the tensors among them behind a Gate, if any of them wants a gradient."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (is_grad_enabled() and any(values[i].requires_grad for i in places)):
        return values

    def all_of_them(grads: Sequence) -> list:
        full: list[Any] = [None] * len(values)
        for place, grad in zip(places, grads, strict=True):
            full[place] = grad
        full = list(watch(tuple(full)))
        return [full[place] for place in places]

    result = list(values)
    gated = Gate.apply(all_of_them, materialize, *[values[i] for i in places])
    for place, tensor in zip(places, gated, strict=True):
        result[place] = tensor
    return tuple(result) if type(values) is tuple else type(values)(*result)


def same_number(what: str, name: str, changed: Any, grads: tuple) -> tuple:
    changed = changed if isinstance(changed, tuple) else (changed,)
    if len(changed) != len(grads):
        raise RuntimeError(
            f"Backward {what} returned an invalid number of {name}, "
            f"got {len(changed)}, but expected {len(grads)}"
        )
    return changed
