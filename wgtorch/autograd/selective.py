"""Selective checkpoints: the results of some ops are kept, and not computed again in backward.

While a region runs, a Keeper stands between ops and their backend: in the first run it keeps the
results that a policy asks for, in the second it hands them out in place of running the op.
"""

from __future__ import annotations

import enum
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wgtorch.autograd import saved
from wgtorch.autograd.contents import moved
from wgtorch.autograd.mode import state
from wgtorch.autograd.saved import Packed, Slot, keep, unrooted
from wgtorch.backend import Front, put_before
from wgtorch.layout import Layout
from wgtorch.storage import Storage, Value


class CheckpointPolicy(enum.Enum):
    """What becomes of an op's results in a checkpoint: kept, or computed again.

    MUST and PREFER mean the same where nothing is compiled.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


KEPT = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """What a policy is told besides the op: which run this is."""

    def __init__(self, *, is_recompute: bool):
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Keeping, Again]:
    """The two contexts for `checkpoint(context_fn=...)` that keep what a policy asks for.

    `policy_fn(ctx, op, *args, **kwargs)` returns a CheckpointPolicy for the op of that name, such
    as "linear" or "softmax" (names as in `saved_tensor_report`); or a list of ops (functions or
    names) whose results are kept. Kept results go through the saved-tensor hooks that are active
    around the checkpoint. They are values, so nothing written later changes them, whatever
    `allow_cache_entry_mutation` says.
    """
    del allow_cache_entry_mutation
    if callable(policy_fn_or_list):
        policy = policy_fn_or_list
    elif isinstance(policy_fn_or_list, list | tuple | set):
        names = {name_of(op) for op in policy_fn_or_list}

        def policy(ctx: Any, op: str, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            chosen = op in names
            return CheckpointPolicy.MUST_SAVE if chosen else CheckpointPolicy.PREFER_RECOMPUTE
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    keeping = Keeping(policy)
    return keeping, Again(keeping)


def name_of(op: Any) -> str:
    name = op if isinstance(op, str) else getattr(op, "__name__", None)
    if name is None:
        raise TypeError(f"a list of ops has functions or names of ops, not {op!r}")
    return name.strip("_")


class Keeping:
    """The context of the first run."""

    def __init__(self, policy: Callable):
        self.policy, self.kept = policy, {}
        self.met: Counter = Counter()
        self.facts = SelectiveCheckpointContext(is_recompute=False)
        self.watchers: list[Any] = []

    def __enter__(self) -> None:
        self.met.clear()
        self.kept.clear()
        self.pair = state.hooks
        put_between(self)

    def __exit__(self, *exception: object) -> None:
        take_out(self)
        moved(self)  # what was kept since the last slot of the region

    def results(self, op: str, args: tuple, attrs: dict, outs: Sequence[Layout], run: Any) -> Any:
        values = run()
        place = op, self.met[op]
        self.met[op] += 1
        answer = self.policy(self.facts, op, *args, **attrs)
        if not isinstance(answer, CheckpointPolicy):
            answer = CheckpointPolicy.MUST_SAVE if answer else CheckpointPolicy.PREFER_RECOMPUTE
        if answer in KEPT:
            several = values if isinstance(values, tuple) else (values,)
            slots = [self.slot(op, *pair) for pair in zip(several, outs, strict=True)]
            self.kept[place] = slots, isinstance(values, tuple)
        return values

    def slot(self, op: str, value: Value, layout: Layout) -> Any:
        return keep(saved.Tensor(Storage(value), layout), self.pair, True, op, "result")

    def name(self) -> str:
        return "checkpoint"

    def inside(self) -> Iterator[Any]:
        for slots, _ in self.kept.values():
            for kept in slots:
                bare = type(kept) is not Packed
                yield saved.Tensor(Storage(kept[0]), kept[1]) if bare else kept


class Again:
    """The context of a second run; it may be entered again."""

    def __init__(self, keeping: Keeping):
        self.keeping = keeping
        self.met: Counter = Counter()

    def __enter__(self) -> None:
        self.met.clear()
        put_between(self)

    def __exit__(self, *exception: object) -> None:
        take_out(self)

    def results(self, op: str, args: tuple, attrs: dict, outs: Sequence[Layout], run: Any) -> Any:
        known = self.keeping.kept.get((op, self.met[op]))
        self.met[op] += 1
        if known is None:
            return run()
        slots, several = known
        values = tuple([self.opened(op, kept) for kept in slots])
        return values if several else values[0]

    def opened(self, op: str, kept: Any) -> Value:
        where = Slot(self.keeping, "result")
        tensor = kept.opened(where) if type(kept) is Packed else unrooted(kept)
        return (tensor if tensor.is_whole else tensor.clone()).storage.value


class Between(Front):
    """A backend through which ops of threads in such a region are kept, or handed out."""

    def through(self, op: Any, args: tuple, attrs: dict, outs: Sequence[Layout], run: Any) -> Any:
        keeper = state.keeper
        if keeper is None or state.in_hook:
            return run()
        state.keeper = None  # what a policy or a hook computes is not part of the region
        try:
            return keeper.results(op.name.strip("_"), args, attrs, outs, run)
        finally:
            state.keeper = keeper

    def elementwise(self, typed: Any, args: tuple, attrs: dict, out: Layout) -> Any:
        run = self.home.elementwise
        return self.through(typed.op, args, attrs, (out,), lambda: run(typed, args, attrs, out))

    def structured(self, call: Any, args: tuple) -> Any:
        run = self.home.structured
        return self.through(call.op, args, call.attrs, call.outs, lambda: run(call, args))

    def reduction(self, fold: Any, source: Any) -> Any:
        run, outs = self.home.reduction, (fold.out,) * max(1, len(fold.op.outputs))
        return self.through(fold.op, (), fold.attrs, outs, lambda: run(fold, source))


class Users:
    """How many regions run now, of all threads: with the last of them the fronts go."""

    count = 0
    lock = threading.Lock()
    undo: Callable[[], None]


def put_between(keeper: Any) -> None:
    """From here on, ops of this thread pass the keeper."""
    with Users.lock:
        if not Users.count:
            Users.undo = staticmethod(put_before(lambda device, home: Between(home)))
        Users.count += 1
    keeper.before, state.keeper = state.keeper, keeper


def take_out(keeper: Any) -> None:
    state.keeper = keeper.before
    with Users.lock:
        Users.count -= 1
        if not Users.count:
            Users.undo()
