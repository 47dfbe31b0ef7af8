"""Requirements: what must hold of data, and what is raised where it does not.

The cpu raises at once. A GPU must not be waited for: a kernel leaves a mark where the condition is
broken, and the next sync raises the same exception.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import bool_
from wgtorch.op import Condition, Facts, Pass, Structured, declare


def plan(facts: Facts) -> Pass:
    refusal = facts.attrs["kind"](facts.attrs["refusal"])
    places = (("holds", facts.layouts[0]),)
    return Pass("require.wgsl", (1, 1, 1), (), ("holds",), (), places=places, complaint=refusal)  # type: ignore[arg-type]


@declare(
    Structured,
    shape=lambda holds, refusal, kind: (0,),
    dtype=lambda holds, refusal, kind: bool_,
    plan=plan,
    promotes=False,
    torch="none",
)
def _require(holds: Condition, refusal: str, kind: object):
    "The exception kind(refusal) unless the 0-d condition holds."
    if not holds:
        raise kind(refusal)
    return np.empty(0, np.bool_)


def require(holds: Any, refusal: str, kind: type[Exception] = RuntimeError) -> None:
    """Raises kind(refusal) where an element of `holds` is false: now, or at a sync."""
    if holds.layout.numel:
        (holds.all() if holds.layout.shape else holds)._require(refusal, kind)


def within(input: Any, low: float, high: float, refusal: str) -> None:
    """That all elements are from `low` to `high`; NaN is not."""
    input = input.detach()
    require((input >= low) & (input <= high), refusal)
