"""Determinism: whether floats that meet in one place are to be joined in the same order every time.

On a GPU scattered floats are added by atomics, in an order nobody knows, and of several elements
written to one place any may stay. `use_deterministic_algorithms(True)` has them brought together in
the order of their index first, as the cpu has them; everything else is deterministic anyway.
"""

from __future__ import annotations

from wgtorch.dtype import forget_settled

LEVELS = ("default", "warn", "error")


class Level:
    """0, or 1 ("warn only") or 2 where determinism is asked for."""

    now = 0


def _set(level: int) -> None:
    if level != Level.now:
        Level.now = level
        forget_settled()  # plans that were made for another order


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Has every op give the same result each time; none has to be refused, or warned of."""
    if not isinstance(mode, bool):
        raise TypeError(
            f"use_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not"
            f" {type(mode).__name__}"
        )
    _set((1 if warn_only else 2) if mode else 0)


def are_deterministic_algorithms_enabled() -> bool:
    return Level.now > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return Level.now == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0 or "default"; 1 or "warn", 2 or "error": as `use_deterministic_algorithms`."""
    if not isinstance(debug_mode, int | str):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in LEVELS:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got"
                f" {debug_mode}"
            )
        debug_mode = LEVELS.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    _set(int(debug_mode))


def get_deterministic_debug_mode() -> int:
    return Level.now
