"""Every op of wgtorch, one block each. Importing this package fills `op.REGISTRY`."""

from wgtorch.ops import (
    activations,
    arithmetic,
    comparison,
    exponentials,
    extremes,
    logic,
    moments,
    reductions,
    rounding,
    selection,
    special,
    trigonometry,
    views,
)  # fmt: skip

__all__ = [
    "activations", "arithmetic", "comparison", "exponentials", "extremes", "logic", "moments",
    "reductions", "rounding", "selection", "special", "trigonometry", "views",
]  # fmt: skip
