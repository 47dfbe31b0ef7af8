"""A turn: the time in which one thread alone talks to the GPUs.

wgpu lets other threads run while it works; two that record into one encoder end the process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from threading import RLock
from typing import Any

turn = RLock()


def in_turn(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, which waits until no other thread is in one."""
    count = len(signature(call).parameters)
    waits = {1: waits_with_one, 2: waits_with_two}.get(count, waits_with_any)
    return wraps(call)(waits(call))


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


def waits_with_any(call: Callable[..., Any]) -> Callable[..., Any]:
    def waits(*args: Any) -> Any:
        with turn:
            return call(*args)

    return waits
