"""Contexts that put saved tensors into the hands of pack and unpack functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from wgtorch.autograd.hook_stack import Bypass, Pair, active, pop, push
from wgtorch.autograd.mode import state
from wgtorch.autograd.stepping import awaited
from wgtorch.autograd.verified import CHECKS

PackHook = Callable[[Any], Any]
UnpackHook = Callable[[Any], Any]


def under(context: Callable[[], Any], function: Callable[[], Any]) -> Any:
    """What `function()` returns, run in the context; a coroutine runs in it step by step."""
    with context():
        result = function()
    return awaited(result, context) if inspect.iscoroutine(result) else result


class Functional(type):
    """Lets a context manager class be called with the function to run in it, too."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """As of a context: `inspect` would show that of `__call__` here."""
        of_init = inspect.signature(cls.__init__)  # type: ignore[misc]
        return of_init.replace(parameters=[*of_init.parameters.values()][1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        function, args, kwargs = cls.function_of(args, kwargs)  # type: ignore[attr-defined]
        if function is None:
            return super().__call__(*args, **kwargs)
        make = super().__call__
        return under(lambda: make(*args, **kwargs), function)


class saved_tensors_hooks(metaclass=Functional):
    """Inside, every tensor saved for backward is stored as what `pack_hook(tensor)` returns.

    `unpack_hook` is given that when backward needs the tensor, and must return a tensor of the
    same shape on the same device. Both run without recording. The innermost context counts;
    `compose_hooks` joins two. With a third argument, `saved_tensors_hooks(pack, unpack, fn)`
    returns `fn()` run inside (awaits it, if it is a coroutine function).

    `pack_hook` is given an input of an op as the user's own tensor, so that `t is parameter` can be
    asked, and a result as a snapshot. Attributes set on a tensor, and its class if that is not
    Tensor, need not come back. A tensor that is kept in a list, a dict or an object of its own and
    written later is an error in backward; kept alone or in a tuple, it is what it was. As with any
    context, in a generator it lasts while others run between two `yield`.

    `check` says how far the pair is trusted: "off"; "metadata" (shape and device, and another
    dtype is cast back); "strict" (the dtype, too); "values", for trying a pair out: it is run
    twice at each pack, and HookCheckError tells op, slot, shape and worst element where it does
    not give back what it was given. A lossy pair states its error: every element within
    `atol + rtol * abs(element)`; `atol` may be a function of the saved tensor.

    Example::

        with graph.saved_tensors_hooks(lambda t: t.half(), lambda packed: packed.float()):
            loss = model(x).sum()
    """

    check, rtol = "metadata", 0.0
    atol: Any = 0.0
    alone: Any  # of a pair that shares what it packs: the same without sharing

    def __init__(
        self,
        pack_hook: PackHook,
        unpack_hook: UnpackHook,
        *,
        check: str | None = None,
        rtol: float | None = None,
        atol: float | Callable[[Any], Any] | None = None,
    ):
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                kind = type(hook).__name__
                raise TypeError(f"saved_tensors_hooks: {name} must be callable, not {kind}")
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        if check is not None:
            if check not in CHECKS:
                raise ValueError(
                    f"saved_tensors_hooks: check is one of {', '.join(CHECKS)}; got {check!r}"
                )
            self.check = check
        self.rtol = self.rtol if rtol is None else rtol
        self.atol = self.atol if atol is None else atol

    @classmethod
    def function_of(cls, args: tuple, kwargs: dict) -> tuple[Any, tuple, dict]:
        if "fn" in kwargs:
            rest = {name: value for name, value in kwargs.items() if name != "fn"}
            return called(kwargs["fn"]), args, rest
        if cls is saved_tensors_hooks and len(args) == 3:
            return called(args[2]), args[:2], kwargs
        return None, args, kwargs

    def __enter__(self) -> None:
        bound = self.bound if self.rtol or self.atol else None
        push(Pair(self.pack_hook, self.unpack_hook, self, self.check, bound))

    def __exit__(self, *exception: object) -> None:
        pop(self)

    def bound(self, tensor: Any) -> Any:
        """How far each element of `tensor` may be from what comes back, as float32."""
        atol = self.atol(tensor) if callable(self.atol) else self.atol
        return tensor.abs().float() * self.rtol + atol


def called(function: Any) -> Callable[[], Any]:
    if not callable(function):
        raise TypeError(f"fn must be callable, not {type(function).__name__}")
    return function


class disable_saved_tensors_hooks(metaclass=Functional):
    """Saved-tensor hooks forbidden, or asleep.

    * `disable_saved_tensors_hooks("message")`: a context manager (and decorator) in which entering
      hooks raises RuntimeError("message"); entering it while hooks are active raises, too.
    * `disable_saved_tensors_hooks(fn)`: returns `fn()` run without the hooks that are active.
    * `disable_saved_tensors_hooks()`: a context manager with the meaning of the second form.
    """

    def __init__(self, error_message: str | None = None):
        if error_message is not None and not isinstance(error_message, str):
            raise TypeError(
                "disable_saved_tensors_hooks takes an error message (str), a function to run"
                " without hooks, or nothing (a context without hooks); got"
                f" {type(error_message).__name__}"
            )
        self.error_message = error_message
        self.before: list[str | None] = []

    @classmethod
    def function_of(cls, args: tuple, kwargs: dict) -> tuple[Any, tuple, dict]:
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0], (), {}
        if set(kwargs) == {"fn"} and not args:
            return called(kwargs["fn"]), (), {}
        return None, args, kwargs

    def __enter__(self) -> None:
        if self.error_message is None:
            push(Bypass(self))
            return
        if active() is not None:
            raise RuntimeError(self.error_message)
        self.before.append(state.refusal)
        state.refusal = self.error_message

    def __exit__(self, *exception: object) -> None:
        if self.error_message is None:
            pop(self)
        else:
            state.refusal = self.before.pop()

    def __call__(self, function: Callable) -> Callable:
        from_message = self.error_message

        def run(*args: Any, **kwargs: Any) -> Any:
            return under(lambda: disable_saved_tensors_hooks(from_message),
                         lambda: function(*args, **kwargs))  # fmt: skip

        return functools.wraps(function)(run)
