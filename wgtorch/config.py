"""Knobs read from the environment once, and `trace`, the one voice every room reports through."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from time import perf_counter
from types import CodeType

START = perf_counter()
PACKAGE = os.path.dirname(__file__) + os.sep


def knob(name: str, default: int = 0, most: int | None = None, least: int = 0) -> int:
    """The whole number in WGTORCH_<name>, from `least` to `most`; empty counts as unset."""
    text = os.environ.get(f"WGTORCH_{name}", "").strip()
    try:
        number = int(text or default)
    except ValueError:
        raise ValueError(f"WGTORCH_{name}={text!r} is not a whole number") from None
    if most is not None and not least <= number <= most:
        raise ValueError(f"WGTORCH_{name}={text!r} is not a number from {least} to {most}")
    return number


def word(name: str, default: str, *allowed: str) -> str:
    """The word in WGTORCH_<name>; one of `allowed` where any are given."""
    text = os.environ.get(f"WGTORCH_{name}", "").strip() or default
    if allowed and text not in allowed:
        raise ValueError(f"WGTORCH_{name}={text!r} is none of {', '.join(allowed)}")
    return text


DEBUG = knob("DEBUG", 0, 5)  # 1 devices, 2 dispatches, 3 fusion, 4 WGSL, 5 every op
EAGER = knob("EAGER", 0, 1)  # 1 = fulfil every promise at once (no fusion)
CHECK = knob("CHECK", 0, 1)  # 1 = compare ops with references; errors of a kernel raise at once
NAN = knob("NAN", 0, 1)  # 1 = stop at the first op that makes a NaN
PUBLIC_API = knob("PUBLIC_API", 0, 1)  # 1 = never touch wgpu-py's private handles
FALLBACK = word("FALLBACK", "warn", "warn", "error")  # for an op without a kernel on a device
ADAPTER = word("ADAPTER", "")  # which adapter to use: index, part of its name, kind, or `none`
MAX_FUSED = 1 if EAGER else knob("MAX_FUSED", 24, 1000, 1)  # longest chain of ops in one kernel
MAX_HELD = knob("MAX_HELD", 25, 100)  # percent of live GPU memory that promises alone may hold
warn_always = False  # repeat warnings that are else given once; see settings.py


def outside() -> int:
    """The `stacklevel` of a warning that names the first line which is not the library's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "wgtorch":
        frame, level = frame.f_back, level + 1
    return level


def caller() -> tuple[CodeType, int]:
    """The code, and its line, that called the library."""
    frame = sys._getframe(1)
    while frame.f_back and is_own(frame.f_code):
        frame = frame.f_back
    return frame.f_code, frame.f_lineno


@cache
def is_own(code: CodeType) -> bool:
    return code.co_filename.startswith(PACKAGE)


def trace(level: int, room: str, message: Callable[[], str]) -> None:
    """Say something at WGTORCH_DEBUG >= level; `message` is called only when somebody listens."""
    if level <= DEBUG:
        print(f"{perf_counter() - START:9.4f} s [{room}] {message()}", file=sys.stderr)
