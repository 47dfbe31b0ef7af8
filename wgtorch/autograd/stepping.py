"""Generators and coroutines run a step at a time, under a context that is left at every pause."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager
from typing import Any

Contexts = Callable[[], AbstractContextManager]


def stepped(inner: Any, context: Contexts) -> Generator[Any, Any, Any]:
    """Drives `inner` (a generator or a coroutine); each step runs inside a new context."""
    try:
        with context():
            step = inner.send(None)
        while True:
            try:
                given = yield step
            except GeneratorExit:
                with context():
                    inner.close()
                raise
            except BaseException as error:
                with context():
                    step = inner.throw(error)
            else:
                with context():
                    step = inner.send(given)
    except StopIteration as stop:
        return stop.value


class Stepped:
    """A coroutine that finds its context at every step, and nobody else does between them."""

    __slots__ = ("context", "inner")

    def __init__(self, inner: Coroutine, context: Contexts):
        self.inner, self.context = inner, context

    def __await__(self) -> Generator[Any, Any, Any]:
        return stepped(self.inner, self.context)


async def awaited(inner: Coroutine, context: Contexts) -> Any:
    return await Stepped(inner, context)
