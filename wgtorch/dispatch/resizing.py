"""Another size over the same memory, which grows where it is too small; other views stay."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from wgtorch.autograd.mode import state
from wgtorch.config import outside
from wgtorch.dispatch.doors import DOORS
from wgtorch.layout import Layout, row_major

if TYPE_CHECKING:
    from wgtorch.tensor import Tensor


def check_changeable(target: Tensor) -> None:
    """Refuses a tensor of inference mode outside of it: nobody would notice the change."""
    if target.storage.version < 0 and not state.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a"
            " clone to get a normal tensor before doing inplace update.See"
            " https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def resize(target: Tensor, shape: tuple[int, ...]) -> None:
    """`target` gets a shape, row by row from where it begins. New elements are 0."""
    check_changeable(target)
    storage, offset = target.storage, target.layout.offset
    layout = Layout.of(shape, tuple(row_major(shape)), offset)
    known = storage.value.numel
    if layout.extent > known:
        if storage.shared:
            raise RuntimeError("Trying to resize storage that is not resizable")
        longer = target.new_zeros((layout.extent - known,))
        if known:
            whole = target.over(storage, Layout.contiguous((known,)))
            longer = DOORS["_cat"]((whole, longer), 0)
        storage.value = longer.storage.value
        if storage.version >= 0:
            storage.version += 1
    target.layout = layout


def fit(out: Tensor, shape: tuple[int, ...]) -> None:
    """Resizes what `out=` names to what it will have, as PyTorch does, which warns of it."""
    check_changeable(out)
    if out.layout.numel:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape"
            f" {list(out.layout.shape)}, which does not match the required output shape"
            f" {list(shape)}. This behavior is deprecated, and in a future PyTorch release outputs"
            " will not be resized unless they have zero elements. You can explicitly reuse an out"
            " tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=outside(),
        )
    resize(out, shape)
