"""The stack of saved-tensor hooks: one per thread, the innermost pair is the active one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.autograd.mode import state


class Pair:
    """A pack and an unpack function. `owner` is the context that entered it.

    `check` says how far the two are trusted; `bound(tensor)` how far elements may be off.
    """

    __slots__ = ("bound", "check", "owner", "pack", "unpack")

    def __init__(
        self,
        pack: Callable[[Any], Any],
        unpack: Callable[[Any], Any],
        owner: Any,
        check: str = "metadata",
        bound: Callable[[Any], Any] | None = None,
    ):
        self.pack, self.unpack, self.owner = pack, unpack, owner
        self.check, self.bound = check, bound


class Bypass:
    """Takes the place of a pair where hooks are to be asleep."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any):
        self.owner = owner


def push(entry: Pair | Bypass) -> None:
    if type(entry) is Pair and state.refusal is not None:
        raise RuntimeError(state.refusal)
    if state.stack is None:
        state.stack = []
    state.stack.append(entry)
    wake()


def pop(owner: Any) -> None:
    """Takes out the innermost entry of `owner`, and complains if it was not on top."""
    stack = state.stack or []
    place = next((i for i in reversed(range(len(stack))) if stack[i].owner is owner), None)
    if place is None:
        raise RuntimeError(
            f"{type(owner).__name__} exited without having been entered in this thread"
        )
    del stack[place]
    wake()
    if place != len(stack):
        raise RuntimeError(f"{type(owner).__name__} exited out of order: a later one is active")


def active() -> Pair | None:
    """The pair that saved tensors go through now."""
    top = state.stack[-1] if state.stack else None
    return top if type(top) is Pair else None


def wake() -> None:
    state.hooks = None if state.in_hook else active()


class running_hook:
    """While a pack or unpack function runs: nothing is recorded, and hooks are inert.

    What it raises says in a note for which op and slot it ran.
    """

    __slots__ = ("before", "below", "op", "slot", "what")

    def __init__(self, what: str, op: str, slot: str):
        self.what, self.op, self.slot = what, op.strip("_"), slot

    def __enter__(self) -> None:
        self.before, self.below = (state.recording, state.in_hook, state.slot), state.below
        if not state.in_hook:
            state.below = state.recording
        state.recording, state.in_hook, state.hooks = False, True, None
        state.slot = self.op, self.slot

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        state.recording, state.in_hook, state.slot = self.before
        state.below = self.below
        wake()
        if error is not None:
            error.add_note(f"in the {self.what} hook for {self.op}'s saved '{self.slot}'")


class awake:
    """Within a hook: hooks count again, as outside of one."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before, state.in_hook = state.in_hook, False
        wake()

    def __exit__(self, *exception: object) -> None:
        state.in_hook = self.before
        wake()
