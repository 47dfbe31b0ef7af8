"""A turn: the time in which one thread alone talks to the GPUs, or changes what others see.

wgpu lets other threads run while it works; two that record into one encoder end the process. An
in-place op reads, computes and stores: what another thread stores in between would be lost.

There is one lock, which a thread may take again: no two can wait for each other. No hook runs in
a turn, and no finalizer takes one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from inspect import signature
from threading import RLock
from typing import Any

turn = RLock()
if hasattr(os, "register_at_fork"):  # or a child's copy would stay with a thread it does not have
    os.register_at_fork(
        before=turn.acquire, after_in_parent=turn.release, after_in_child=turn.release
    )


def in_turn(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, which waits until no other thread is in one."""
    count = len(signature(call).parameters)
    return wraps(call)(WAITS.get(count, waits_with_any)(call))


def waits_with_one(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def waits(arg: Any) -> Any:  # without a tuple in between: a tenth of a microsecond per op
        with turn:
            return call(arg)

    return waits


def waits_with_two(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def waits(first: Any, second: Any) -> Any:
        with turn:
            return call(first, second)

    return waits


def waits_with_three(call: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    def waits(first: Any, second: Any, third: Any) -> Any:
        with turn:
            return call(first, second, third)

    return waits


def waits_with_any(call: Callable[..., Any]) -> Callable[..., Any]:
    def waits(*args: Any) -> Any:
        with turn:
            return call(*args)

    return waits


WAITS: dict[int, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    1: waits_with_one, 2: waits_with_two, 3: waits_with_three,
}  # fmt: skip
