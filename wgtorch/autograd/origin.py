"""An origin is how a view was made, where that forbids writing through it while ops are recorded.

It is a key of `WHY`. Views of such a view inherit it.
"""

from __future__ import annotations

from typing import Any

from wgtorch.autograd.mode import state
from wgtorch.autograd.node import AccumulateGrad

SEVERAL, UNRECORDED, INFERENCE, FUNCTION = "several", "no_grad", "inference", "function"

BOTH = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your"
    " code by moving both the view and the inplace either both inside the {0} block (if you don't"
    " want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
WHY = {
    SEVERAL: "This view is the output of a function that returns multiple views. Such functions do"
    " not allow the output views to be modified inplace. You should replace the inplace operation"
    " by an out-of-place one.",
    UNRECORDED: BOTH.format("no_grad"),
    INFERENCE: BOTH.format("inference_mode"),
    FUNCTION: "This view was created inside a custom Function (or because an input was returned"
    " as-is) and the autograd logic to handle view+inplace would override the custom backward"
    " associated with the custom Function, leading to incorrect gradients. This behavior is"
    " forbidden. You can fix this by cloning the output of the custom Function.",
}


def inherited(view: Any) -> str:
    """The origin of a view of `view`, which has one, or of one that is not recorded."""
    return view._origin or (INFERENCE if state.inference else UNRECORDED)


def refuse_written(view: Any, indirectly: bool = False) -> None:
    """Raises PyTorch's complaint: the view is written to, or, `indirectly`, its base was."""
    why, past = view._origin, view.past
    mode = "inference mode" if why == INFERENCE else "no_grad mode"
    recorded = past is not None and type(past) is not AccumulateGrad
    if recorded:
        name = past.name().removesuffix("Backward0").removesuffix("Backward")
        subject = f"Output {view.output_nr} of {name} is a view"
        if why in (UNRECORDED, INFERENCE):
            subject += f" of a view which was created in {mode}"
    else:
        subject = f"A view was created in {mode}"
    verb = "its base or another view of its base has been" if indirectly else "is being"
    place = ""
    if not recorded or why in (UNRECORDED, INFERENCE):
        place = " in normal mode" if why == INFERENCE else " with grad mode enabled"
    raise RuntimeError(f"{subject} and {verb} modified inplace{place}. {WHY[why]}")
