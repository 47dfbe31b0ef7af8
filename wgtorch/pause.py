"""A rest of the cycle collector: importing a package makes many objects and drops few, and a fifth
of its time would go into looking through them again and again. They stay, so they count as old from
the start: thawing what was frozen leaves it in the oldest generation."""

from __future__ import annotations

import gc


class Rest:
    """The collector rests as long as this lives; an import that fails drops it, too."""

    def __init__(self) -> None:
        self.was_on = gc.isenabled()
        gc.disable()

    def __del__(self) -> None:
        if not gc.get_freeze_count():  # else it would be somebody else's that thaws
            gc.freeze()
            gc.unfreeze()
        if self.was_on:
            gc.enable()


def __getattr__(name: str) -> Rest:
    if name == "rest":  # begins when it is imported
        return Rest()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
