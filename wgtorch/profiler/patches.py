"""Patches put watched functions in the place of others, and take them away again.

That is why a program that is not profiled pays nothing: there is no question in any op whether
somebody is watching.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from typing import Any

from wgtorch.profiler.recorder import Recorder

MISSING = object()


class Patches:
    """What was replaced, in order; `undo` goes backwards."""

    def __init__(self) -> None:
        self.made: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, new: Any) -> None:
        """Into a dict, or as an attribute of a module, class or object."""
        if isinstance(owner, dict):
            self.made.append((owner, name, owner.get(name, MISSING)))
            owner[name] = new
        else:
            self.made.append((owner, name, vars(owner).get(name, MISSING)))
            setattr(owner, name, new)

    def undo(self) -> None:
        while self.made:
            owner, name, old = self.made.pop()
            if isinstance(owner, dict):
                if old is MISSING:
                    owner.pop(name, None)
                else:
                    owner[name] = old
            elif old is MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)


@cache
def straight(count: int, names: tuple[str, ...]) -> Callable:
    """A call that gives its arguments away: a reduction need not store what only it holds."""
    given = ["held.pop()"] * count + [f"{name}=given.pop({name!r})" for name in names]
    source = f"lambda call, held, given: call({', '.join(given)})"
    return eval(compile(source, __file__, "eval"))  # a line of the library, not of who calls it


def watched(name: str, call: Callable, kind: str = "op") -> Callable:
    """The same function, as an event of the current recorder."""

    def run(*args: Any, **given: Any) -> Any:
        recorder = Recorder.current
        if recorder is None:
            return call(*args, **given)
        event = recorder.begin(name, kind, args)
        held, count = list(reversed(args)), len(args)
        del args
        result = None
        try:
            result = straight(count, tuple(given))(call, held, given)
        finally:
            recorder.end(event, result)
        return result

    return update_wrapper(run, call)
