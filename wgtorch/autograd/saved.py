"""Tensors kept from forward to backward: every save and every use goes through here.

Without hooks a slot of a node is a Snapshot, the plain tuple (Value, Layout, weak reference to
the tensor): it costs next to nothing, and whatever is written later, it has today's elements. With
hooks it is a Packed: what `pack` made of the tensor, and what must hold when it comes back.
"""

from __future__ import annotations

import weakref
from typing import Any

from wgtorch.autograd.contents import fulfil, keeps, mapped
from wgtorch.autograd.hook_stack import Pair, running_hook
from wgtorch.autograd.ledger import Entry, ledger_of
from wgtorch.autograd.verified import verify
from wgtorch.storage import Storage, View

Snapshot = tuple  # (Value, Layout, weakref.ref[Tensor])
Tensor: Any = None  # what saved tensors come back as; set when it is defined
made: Any = None  # what makes one of a value and a layout


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after"
    " they have already been freed). Saved intermediate values of the graph are freed when you call"
    " .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through"
    " the graph a second time or if you need to access saved tensors after calling backward."
)


def keep(
    tensor: Any, pair: Pair | None, is_output: bool = False, op: str = "", slot: str = ""
) -> Any:
    """A slot for `tensor`, which `op` saves as `slot`."""
    storage = tensor.storage
    if storage.version < 0:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in"
            " inference mode in computation tracked by autograd. To work around this, you can make"
            " a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()`"
            " instead of `torch.inference_mode()`."
        )
    if pair is None:
        return storage.value, tensor.layout, weakref.ref(tensor)
    return Packed(pair, tensor, is_output, op, slot)


class Packed:
    """What a pack function returned for a tensor.

    An output is packed as a snapshot of itself, so nothing that `pack` keeps leads back to the
    node. An input is packed as the user's own tensor; what tells whether it was written since is
    kept here (`storage`, `version`), and where `pack` kept the tensor, its elements (`held`).
    """

    __slots__ = ("__weakref__", "check", "device", "dtype", "entry", "held", "layout", "packed",
                 "storage", "unpack", "version")  # fmt: skip
    is_slot = True

    def __init__(self, pair: Pair, tensor: Any, is_output: bool, op: str, slot: str):
        if is_output:
            tensor = snapshot(tensor)
        storage = tensor.storage
        value, version = storage.value, storage.version
        self.layout, self.dtype, self.device = tensor.layout, value.dtype, value.device
        self.unpack, self.version, self.check = pair.unpack, version, pair.check
        self.held, self.storage = None, weakref.ref(storage)
        with running_hook("pack", op, slot):
            packed = self.packed = pair.pack(tensor)
            if pair.check == "values" and value.dtype.encoding is None:
                self.try_out(pair, tensor, f"{op.strip('_')}'s saved '{slot}'")
        if storage.version != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as"
                " input to pack hook can not be modified by in-place operations as this can lead"
                " to unexpected side-effects. Please open an issue if you need to perform in-place"
                " operations on the input to a pack hook."
            )
        if keeps(packed, storage):
            self.held = value  # old elements live on where `pack` kept the tensor
        fulfil(packed, value)
        self.entry = Entry(ledger_of(value.device), self)

    def try_out(self, pair: Pair, tensor: Any, label: str) -> None:
        label = f"{label} of shape {list(self.layout.shape)}, {self.dtype} on {self.device}"

        def opened(packed: Any) -> Any:
            return self.checked(tensor_of(pair.unpack(packed)), label)

        verify(pair, tensor, self.packed, opened, label)

    def disown(self, storage: Any) -> None:
        """A tensor of `storage` is to get the owning node as its past: hold its elements only."""
        if self.held is None or not keeps(self.packed, storage):
            return
        alone = Storage(self.held)
        alone.version, self.storage = self.version, weakref.ref(alone)

        def disowned(tensor: Any) -> Any:
            return tensor.over(alone, tensor.layout) if tensor.storage is storage else tensor

        self.packed = mapped(self.packed, disowned)

    def opened(self, where: Slot) -> Any:
        """What `unpack` gives, checked against what was saved; without a past."""
        self.entry.ledger.unpacks += 1
        with running_hook("unpack", where.op, where.name):
            tensor = tensor_of(self.unpack(self.packed))
        storage = self.storage()
        if storage is tensor.storage and storage.version != self.version:  # type: ignore
            tensor = self.as_it_was(tensor, where)
        if self.check == "off" and tensor.storage.value.dtype is self.dtype:
            return tensor
        return self.checked(tensor, where)

    def as_it_was(self, tensor: Any, where: Slot) -> Any:
        if self.held is None:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an"
                f" inplace operation: [{tensor.dtype} {list(self.layout.shape)}], {where}, is at"
                f" version {tensor.storage.version}; expected version {self.version} instead."
                " Hint: the pack hook kept the tensor itself; let it return the tensor alone, or a"
                " clone of it."
            )
        return tensor.over(Storage(self.held), tensor.layout)

    def checked(self, tensor: Any, where: Slot | str) -> Any:
        value = tensor.storage.value
        if tensor.layout.shape != self.layout.shape:
            raise RuntimeError(
                f"unpack_hook returned a tensor of shape {list(tensor.layout.shape)} for {where},"
                f" which was saved with shape {list(self.layout.shape)}"
            )
        if value.device is not self.device:
            raise RuntimeError(
                f"unpack_hook returned a tensor on {value.device} for {where}, which was saved on"
                f" {self.device}; move it back with .to('{self.device}')"
            )
        if value.dtype is not self.dtype:
            if self.check == "strict":
                raise RuntimeError(
                    f"unpack_hook returned a tensor of {value.dtype} for {where}, which was saved"
                    f" as {self.dtype}"
                )
            with running_hook("unpack", "cast", ""):
                tensor = tensor.bare().to(self.dtype)
        return tensor


def tensor_of(unpacked: Any) -> Any:
    if not isinstance(unpacked, View):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type"
            f" {type(unpacked).__name__}"
        )
    return unpacked


class Slot:
    """The name of a slot, for errors."""

    __slots__ = ("name", "node")

    def __init__(self, node: Any, name: str):
        self.node, self.name = node, name

    @property
    def op(self) -> str:
        recipe = getattr(self.node, "recipe", None)
        return self.node.name() if recipe is None else recipe.op.name

    def __str__(self) -> str:
        return f"{self.node.name()}'s saved '{self.name}'"


class Frozen(Storage):
    """A storage as it was: `origin` refers weakly to the one that goes on."""

    __slots__ = ("origin",)
    origin: Any


def snapshot(tensor: Any) -> Any:
    """The tensor's elements of now, without a past and deaf to later writes."""
    frozen = Frozen(tensor.storage.value)
    frozen.version, frozen.origin = tensor.storage.version, weakref.ref(tensor.storage)
    return tensor.over(frozen, tensor.layout)


def unrooted(kept: Snapshot) -> Any:
    """The tensor of a snapshot, for formulas that are not recorded."""
    value, layout, origin = kept
    tensor = origin()
    if tensor is not None and tensor.layout is layout and tensor.storage.value is value:
        return tensor
    return made(value, layout)


def rooted(kept: Any, where: Slot, past: Any, number: int = 0, result: bool = False) -> Any:
    """The tensor of a slot with its past: `past` is a node, a leaf, or None.

    The user's own tensor where it still is what it was; never for a result of the node itself.
    """
    if type(kept) is tuple:
        value, layout, origin = kept
        tensor = origin()
        if tensor is not None and tensor.storage.value is value and tensor.layout is layout:
            if not result and belongs(tensor, past, number):
                return tensor
            storage = tensor.storage
        else:
            storage = Storage(value)
    else:
        tensor = kept.opened(where)
        if belongs(tensor, past, number):
            return tensor
        storage, layout = tensor.storage, tensor.layout
    tensor = Tensor(storage, layout)
    if past is not None:
        tensor.past, tensor._wants, tensor.output_nr = past, True, number
    return tensor


def belongs(tensor: Any, past: Any, number: int) -> bool:
    """Whether the tensor has that very past already."""
    if past is None:
        return not tensor._wants
    if tensor.past is None:
        return getattr(past, "variable", None) is tensor
    return tensor.past is past and tensor.output_nr == number
