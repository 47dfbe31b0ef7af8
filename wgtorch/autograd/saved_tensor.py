"""SavedTensor: what `node._raw_saved_...` gives, a slot of a node as an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.autograd.hook_stack import Pair
from wgtorch.autograd.saved import Packed, Slot


class SavedTensor:
    """One slot. Its tensor is not touched before `unpack`; hooks may be given to it once."""

    __slots__ = ("_node", "_place")
    _node: Any
    _place: int | None

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def _of(cls, node: Any, place: int | None) -> SavedTensor:
        made = object.__new__(cls)
        made._node, made._place = node, place
        return made

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Packs the saved tensor now; `unpack_hook` gives it back when it is needed."""
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(
                    "register_hooks(): incompatible function arguments: pack_hook and unpack_hook"
                    f" must be callable, got {type(hook).__name__}"
                )
        if self._place is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        kept = self._node.slot_at(self._place)
        if type(kept) is Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint:"
                " only one pair of hooks is allowed at a time."
            )
        if type(kept) is not tuple:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        tensor, is_output = self.unpack(), self._node.is_output_at(self._place)
        pair = Pair(pack_hook, unpack_hook, self)
        slot = Slot(self._node, self._node.name_at(self._place))
        self._node.pack_at(self._place, Packed(pair, tensor, is_output, slot.op, slot.name))

    def unpack(self) -> Any:
        """The tensor, with its past; None for an empty slot."""
        return None if self._place is None else self._node.saved_at(self._place)

    @property
    def data(self) -> Any:
        """What is stored: the tensor without a past, or what the pack function returned."""
        if self._place is None:
            return None
        kept = self._node.slot_at(self._place)
        return kept.packed if type(kept) is Packed else self.unpack().bare()

    def __repr__(self) -> str:
        return f"<SavedTensor of {self._node.name()}>"
