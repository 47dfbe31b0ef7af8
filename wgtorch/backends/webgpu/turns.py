"""A turn: the time in which one thread alone talks to the GPUs.

wgpu lets other threads run while it works; two that record into one encoder end the process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any

turn = RLock()


def in_turn(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, which waits until no other thread is in one."""

    @wraps(call)
    def waits(*args: Any) -> Any:
        with turn:
            return call(*args)

    return waits
