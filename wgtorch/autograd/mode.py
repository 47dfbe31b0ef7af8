"""Whether ops are being recorded, and by whom they are watched: one state per thread."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from wgtorch import storage as storages
from wgtorch.autograd.stepping import awaited, stepped

F = TypeVar("F", bound=Callable[..., Any])


class State(threading.local):
    """What a thread starts with. A new thread inherits nothing."""

    recording = True
    inference = False
    hooks: Any = None  # the active pair of saved-tensor hooks, or None
    stack: Any = None  # the pairs entered and not yet left, innermost last
    refusal: Any = None  # why saved-tensor hooks may not be entered
    in_hook = False  # a pack or unpack function runs: hooks are inert
    below = True  # then: whether those outside of a transform that the hook is in record
    slot: Any = None  # what that function is for: (op, slot)
    keeper: Any = None  # of a selective checkpoint: what ops pass
    running: Any = None  # the node whose backward runs, in anomaly mode
    task: Any = None  # the run of the engine that is under way
    mutating = False  # in allow_mutation_on_saved_tensors


state = State()


def is_recording() -> bool:
    return state.recording


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require grad are recorded, in this thread."""
    return state.recording


def is_inference_mode_enabled() -> bool:
    return state.inference


class Mode:
    """A context manager that also decorates functions, generators and coroutine functions.

    A generator runs under the mode only while it computes: at each yield the caller has its own.
    """

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError

    def clone(self) -> Mode:
        return type(self)()

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            raise TypeError(f"{type(self).__name__} decorates functions; {function} is a class")
        fresh = self.clone
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def run(*args: Any, **kwargs: Any) -> Any:
                return (yield from stepped(function(*args, **kwargs), fresh))
        elif inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run(*args: Any, **kwargs: Any) -> Any:
                return await awaited(function(*args, **kwargs), fresh)
        else:

            @functools.wraps(function)
            def run(*args: Any, **kwargs: Any) -> Any:
                with fresh():
                    return function(*args, **kwargs)

        return run  # type: ignore[return-value]


class _Switch(Mode):
    """Turns recording on or off; may be entered again while entered."""

    on: bool

    def __new__(cls, function: Callable | None = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.before = []  # `@no_grad` without parentheses
        return made(function)

    def __init__(self, function: Callable | None = None):
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(state.recording)
        state.recording = self.on and not state.inference

    def __exit__(self, *exception: object) -> None:
        state.recording = self.before.pop()


class no_grad(_Switch):
    """Nothing is recorded inside, and nothing saved for backward."""

    on = False


class enable_grad(_Switch):
    """Recording is on inside, also within `no_grad`; not within `inference_mode`."""

    on = True


class set_grad_enabled(Mode):
    """Turns recording on or off at once, and back where the `with` block ends."""

    def __init__(self, mode: bool):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): mode must be bool, not {type(mode).__name__}")
        self.mode, self.before = mode, state.recording
        state.recording = mode and not state.inference

    def __call__(self, function: F) -> F:
        state.recording = self.before  # as a decorator it acts in the function only
        return super().__call__(function)

    def __enter__(self) -> None:
        state.recording = self.mode and not state.inference

    def __exit__(self, *exception: object) -> None:
        state.recording = self.before

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(Mode):
    """Like `no_grad`, and tensors made inside can never be saved for backward.

    `inference_mode(False)` within brings back normal recording.
    """

    def __new__(cls, mode: bool | Callable = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.mode, made.before = True, []
        return made(mode)

    def __init__(self, mode: bool | Callable = True):
        self.mode = bool(mode)
        self.before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self.before.append((state.recording, state.inference))
        self._become(not self.mode, self.mode)

    def __exit__(self, *exception: object) -> None:
        self._become(*self.before.pop())

    def _become(self, recording: bool, inference: bool) -> None:
        state.recording, was = recording, state.inference
        state.inference = inference
        if inference is not was:
            count_inference(1 if inference else -1)

    def clone(self) -> inference_mode:
        return type(self)(self.mode)


_inside = 0  # threads in inference mode
_counting = threading.Lock()


def count_inference(change: int) -> None:
    """Tells storages whether they must ask for their first version."""
    global _inside
    with _counting:
        _inside += change
        storages.first_version = first_version if _inside else None


def first_version() -> int:
    """What a storage made now starts from: negative marks an inference tensor."""
    return -1 if state.inference else 0
