"""Checkpointing: a function saves nothing for backward but its inputs, and runs again instead.

It is a pair of saved-tensor hooks. `pack` leaves a Held place; the first `unpack` in a backward
runs the function again under hooks that catch what it saves, in the same order as before.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from itertools import zip_longest
from typing import Any

from wgtorch.autograd.hook_stack import Pair, awake, pop, push
from wgtorch.autograd.mode import enable_grad, state
from wgtorch.autograd.saved import Packed, Slot, keep, snapshot, unrooted
from wgtorch.storage import View

DRAWS: list[Any] = []  # generators (get_state, set_state) that are set back to repeat a run


class CheckpointError(RuntimeError):
    """A function did not save in its second run what it saved in the first."""


class _Enough(Exception):
    """The second run has saved all that is needed."""


class Held:
    """What is stored for a tensor: its number among those the function saved."""

    __slots__ = ("__weakref__", "frame", "number")
    place = "recompute"  # what a report says

    def __init__(self, frame: Frame, number: int):
        self.frame, self.number = frame, number

    def inside(self) -> Iterator[Any]:
        """The inputs of the run to come, and what a selective checkpoint keeps for it."""
        for arg in self.frame.args:
            if isinstance(arg, Input):
                yield arg.kept if type(arg.kept) is Packed else unrooted(arg.kept)
        for context in self.frame.contexts:
            if hasattr(context, "inside"):
                yield context


class Frame:
    """One call of a checkpointed function: its inputs, and what its run saved."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict, options: Options):
        self.function, self.kwargs, self.options = function, kwargs, options
        self.args = [Input(a) if isinstance(a, View) else a for a in args]
        self.draws = [g.get_state() for g in DRAWS] if options.preserve_rng_state else []
        self.contexts = options.contexts()  # for the first run, and for those after it
        self.facts: list[tuple] = []  # shape, dtype, device of each saved tensor
        self.names: list[tuple[str, str]] = []  # and which op saved it, as what
        self.held: list[weakref.ref[Held]] = []
        self.again: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()

    def pack(self, tensor: Any) -> Held:
        held = Held(self, len(self.facts))
        self.facts.append(facts_of(tensor))
        self.names.append(state.slot)
        self.held.append(weakref.ref(held))
        return held

    def unpack(self, held: Held) -> Any:
        task = state.task
        values = self.again.get(task) if task is not None else None
        if values is None or held.number not in values:
            values = self.run_again()
            if task is not None:
                self.again[task] = values
        return values.pop(held.number)

    def run_again(self) -> dict[int, Any]:
        """What the function saves, by place; only what somebody still holds."""
        values: dict[int, Any] = {}
        saved: list[tuple] = []
        names: list[tuple[str, str]] = []

        def catch(tensor: Any) -> Any:
            place = len(saved)
            saved.append(facts_of(tensor))
            names.append(state.slot)
            if place < len(self.held) and self.held[place]() is not None:
                values[place] = snapshot(tensor)  # the function may yet write to it
            if self.options.early_stop and len(saved) == len(self.facts):
                raise _Enough
            return values.get(place)

        args = [a.opened() if isinstance(a, Input) else a for a in self.args]
        with ExitStack() as stack:
            stack.enter_context(awake())
            stack.enter_context(drawing_from(self.draws))
            stack.enter_context(enable_grad())
            stack.enter_context(self.contexts[1])
            stack.enter_context(entered(Pair(catch, lambda packed: packed, self)))
            with suppress(_Enough):
                self.function(*args, **self.kwargs)
        self.compare(saved, names)
        return values

    def compare(self, saved: list[tuple], names: list[tuple[str, str]]) -> None:
        debug = self.options.debug if _debugging is None else _debugging
        story = told(self.names, names) if debug else ""
        if len(saved) != len(self.facts):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the"
                " original forward and recomputation.\nNumber of tensors saved during forward:"
                f" {len(self.facts)}.\nNumber of tensors saved during recomputation: {len(saved)}."
                + story
            )
        pairs = list(zip(self.facts, saved, strict=True))
        different = [i for i, (a, b) in enumerate(pairs) if a != b]
        if different and self.options.determinism_check == "default":
            lines = [
                f"tensor at position {i} ({' of '.join(reversed(self.names[i]))}):\n"
                f"saved metadata: {described(pairs[i][0])}\n"
                f"recomputed metadata: {described(pairs[i][1])}"
                for i in different
            ]
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have"
                " different metadata than during the forward pass.\n" + "\n".join(lines) + story
            )


class Input:
    """A tensor argument, saved like any tensor: the hooks that are active see it."""

    __slots__ = ("kept", "wants")

    def __init__(self, tensor: Any):
        self.wants = tensor.requires_grad
        self.kept = keep(tensor, state.hooks, False, self.name(), "input")

    def opened(self) -> Any:
        kept = self.kept
        tensor = kept.opened(Slot(self, "input")) if type(kept) is Packed else unrooted(kept)
        return tensor.bare().requires_grad_(self.wants)

    def name(self) -> str:
        return "checkpoint"


class Options:
    """How to checkpoint."""

    def __init__(
        self,
        preserve_rng_state: bool,
        context_fn: Callable | None,
        determinism_check: str,
        early_stop: bool,
        debug: bool = False,
    ):
        if determinism_check not in ("default", "none"):
            raise ValueError(
                "determinism_check should be one of ('default', 'none') but got"
                f" '{determinism_check}'"
            )
        self.preserve_rng_state = preserve_rng_state
        self.context_fn = context_fn
        self.determinism_check = determinism_check
        self.early_stop = early_stop if _forced is None else _forced
        self.debug = debug

    def contexts(self) -> tuple[AbstractContextManager, AbstractContextManager]:
        return (nullcontext(), nullcontext()) if self.context_fn is None else self.context_fn()


def facts_of(tensor: Any) -> tuple:
    value = tensor.storage.value
    return tensor.layout.shape, value.dtype, value.device


def told(first: list[tuple[str, str]], second: list[tuple[str, str]]) -> str:
    """What two runs saved, op by op."""
    lines = ["", "Saved in forward / in recomputation:"]
    for i, (a, b) in enumerate(zip_longest(first, second, fillvalue=("-", "-"))):
        mark = "" if a == b else "   <- differs"
        lines.append(f"{i:4} {'.'.join(a):<30} {'.'.join(b)}{mark}")
    return "\n".join(lines)


def described(facts: tuple) -> str:
    shape, dtype, device = facts
    return f"{{'shape': {list(shape)}, 'dtype': {dtype}, 'device': {device}}}"


@contextmanager
def entered(pair: Pair) -> Iterator[None]:
    push(pair)
    try:
        yield
    finally:
        pop(pair.owner)


@contextmanager
def drawing_from(states: Sequence[Any]) -> Iterator[None]:
    """Random numbers as at the time of `states`, and afterwards as if nothing had been drawn."""
    if not states:
        yield
        return
    before = [g.get_state() for g in DRAWS]
    try:
        for generator, then in zip(DRAWS, states, strict=False):
            generator.set_state(then)
        yield
    finally:
        for generator, now in zip(DRAWS, before, strict=True):
            generator.set_state(now)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple] | None = None,
    determinism_check: str = "default",
    early_stop: bool = True,
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, which runs again in backward instead of saving tensors.

    It must save the same tensors again; what it draws from the random generators is repeated
    (`preserve_rng_state`). `early_stop` ends the second run with the last tensor that is needed.
    `context_fn` gives two contexts, for the first run and those in backward. With `debug` the error
    about a run that saves other tensors lists what both saved. There is one implementation, which
    `use_reentrant=True` gets, too.
    """
    if use_reentrant and (context_fn is not None or debug):
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    options = Options(preserve_rng_state, context_fn, determinism_check, early_stop, debug)
    if not state.recording:
        return function(*args, **kwargs)
    frame = Frame(function, args, kwargs, options)
    with frame.contexts[0], entered(Pair(frame.pack, unpack, frame.held)):
        return function(*args, **kwargs)


def unpack(held: Held) -> Any:
    return held.frame.unpack(held)


_forced: bool | None = None
_debugging: bool | None = None


class set_checkpoint_debug_enabled:
    """In the `with` block, checkpoints tell what both runs saved, or do not; None: as asked."""

    def __init__(self, enabled: bool | None):
        self.enabled = enabled

    def __enter__(self) -> None:
        global _debugging
        self.before, _debugging = _debugging, self.enabled

    def __exit__(self, *exception: object) -> None:
        global _debugging
        _debugging = self.before


class set_checkpoint_early_stop:
    """In the `with` block, checkpoints stop early or do not, whatever they were asked."""

    def __init__(self, enable: bool):
        self.enable = enable

    def __enter__(self) -> None:
        global _forced
        self.before, _forced = _forced, self.enable

    def __exit__(self, *exception: object) -> None:
        global _forced
        _forced = self.before


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A sequence of functions (or a Sequential) in segments, all but the last checkpointed."""
    del use_reentrant
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments

    def run(start: int, end: int) -> Callable:
        def forward(x: Any) -> Any:
            for step in steps[start:end]:
                x = step(x)
            return x

        return forward

    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(run(start, end), input, **kwargs)
    return run(end, len(steps))(input)
