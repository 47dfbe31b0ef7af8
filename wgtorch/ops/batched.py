"""Batched: what ops whose results take their shape from data do with tensors under vmap, where
each sample has elements of its own. They are refused, or done sample by sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.storage import View

SAME_SHAPE = "Please use torch.where(mask, x, y), which keeps the shape."
STATIC = (
    "Please use nonzero_static(size=...) or torch.where(mask, x, y), whose shape does not depend on"
    " data."
)
LATER = "Please call it outside of vmap."
MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch"
    f" over indexing with a boolean mask. {SAME_SHAPE}"
)
SELECT = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this"
    f" because for each batch this would return a differently shaped Tensor. {SAME_SHAPE}"
)


def is_batched(tensor: View) -> bool:
    """Whether the samples of a vmap under way have different elements there."""
    device = tensor.storage.value.device
    return device.level >= 1 and device.backend.is_batched(tensor)


def refuse(tensor: View, op: str, remedy: str = LATER) -> None:
    """PyTorch's complaint about results of a shape for each sample."""
    if is_batched(tensor):
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted"
            f" to vmap over {op}. {remedy}"
        )


def refuse_mask(mask: View, said: str = MASK) -> None:
    if is_batched(mask):
        raise RuntimeError(said)


def everything(tensor: Any) -> Any:
    """The elements of all samples as one tensor, outside of all transforms."""
    while tensor.storage.value.device.level >= 1:
        tensor = tensor.storage.value.device.backend.inside(tensor)
    return tensor


def holds_somewhere(condition: Any) -> bool:
    """Whether any element of any sample is true: what is wrong with one stops all."""
    return bool(everything(condition).any())


def each_sample(op: str, function: Callable, *given: Any) -> Any:
    """What `function` gives for each sample, stacked; PyTorch warns that this is slow."""
    devices = [t.storage.value.device for t in given if isinstance(t, View)]
    return max(devices, key=lambda device: device.level).backend.each(op, function, given)
