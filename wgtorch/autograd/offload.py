"""Saved tensors in host memory: `save_on_cpu`."""

from __future__ import annotations

import weakref
from typing import Any

from wgtorch.autograd.saved_hooks import called, saved_tensors_hooks
from wgtorch.layout import Layout

_owners: dict[int, weakref.ref] = {}  # id of a storage -> the parameter it belongs to
_sent: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # what is on the host


def adopt(parameter: Any) -> None:
    """Notes that a parameter's storage is its own; `is_parameter_memory` then knows its views."""
    key = id(parameter.storage)

    def forget(gone: weakref.ref) -> None:
        if _owners.get(key) is gone:
            del _owners[key]

    _owners[key] = weakref.ref(parameter, forget)


def is_parameter_memory(tensor: Any) -> bool:
    """Whether the tensor is a live parameter or looks at the memory of one, through any view."""
    base = tensor if tensor._base is None else tensor._base
    if base.is_parameter:
        return True
    owner = _owners.get(id(tensor.storage))
    parameter = None if owner is None else owner()
    return parameter is not None and parameter.storage is tensor.storage


class save_on_cpu(saved_tensors_hooks):
    """Inside, tensors saved for backward wait in host memory, and return to their device for it.

    The copy is promised when a tensor is saved, and made when a submit passes by: it neither
    stalls nor cuts a fused kernel. Tensors of the cpu stay as they are; so do parameters, whose
    memory is needed anyway (`offload_parameters=True` moves them too). `save_on_cpu(fn)` returns
    `fn()` run inside. `device_type` is accepted for PyTorch's sake and not needed.
    """

    def __init__(
        self,
        pin_memory: bool = False,
        device_type: str | None = None,
        *,
        offload_parameters: bool = False,
    ):
        if not isinstance(pin_memory, bool):
            raise TypeError(
                "save_on_cpu takes pin_memory (bool) or a function to run, not"
                f" {type(pin_memory).__name__}"
            )
        self.pin_memory, self.offload_parameters = pin_memory, offload_parameters
        super().__init__(load_all if offload_parameters else load, unload)

    @classmethod
    def function_of(cls, args: tuple, kwargs: dict) -> tuple[Any, tuple, dict]:
        if args and callable(args[0]):
            return args[0], args[1:], kwargs
        if "fn" in kwargs:
            rest = {name: value for name, value in kwargs.items() if name != "fn"}
            return called(kwargs["fn"]), args, rest
        return None, args, kwargs


def load_all(tensor: Any) -> Any:
    return tensor.detach() if tensor.device.type == "cpu" else Load(tensor)


def load(tensor: Any) -> Any:
    return tensor.detach() if is_parameter_memory(tensor) else load_all(tensor)


class Load:
    """A tensor on the host that is to come back with its strides.

    What travels is each element once, in the order of memory; an expanded axis travels as one, and
    what is saved in several slots travels once.
    """

    __slots__ = ("device", "host", "layout", "order")

    def __init__(self, tensor: Any):
        layout, self.device = tensor.layout, tensor.device
        self.layout = Layout.of(layout.shape, layout.strides, 0)
        self.order = memory_order(layout)
        sent = _sent.setdefault(tensor.storage, weakref.WeakValueDictionary())
        self.host = sent.get((layout, tensor.storage.version))
        if self.host is None:
            shape, strides = self.dense()
            packed = tensor.over(tensor.storage, Layout.of(shape, strides, layout.offset))
            self.host = sent[layout, tensor.storage.version] = packed.to("cpu")

    def dense(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides of what travels."""
        layout = self.layout
        shape = tuple([layout.shape[d] for d in self.order])
        return shape, tuple([layout.strides[d] for d in self.order])

    def back(self) -> Any:
        there = self.host.to(self.device)
        dense = there.contiguous()
        layout = self.layout
        shape, strides = self.dense()
        if Layout.of(shape, strides, 0).is_contiguous:
            return dense.over(dense.storage, layout)
        memory = dense.new_zeros((layout.extent,))  # the saved view has gaps
        memory.as_strided(shape, strides, 0).copy_(dense)
        return memory.over(memory.storage, layout)


def unload(packed: Any) -> Any:
    return packed.back() if type(packed) is Load else packed


def memory_order(layout: Layout) -> list[int]:
    """The axes from the widest stride to the narrowest, without those that repeat or are single."""
    axes = [d for d, n in enumerate(layout.shape) if n != 1 and (layout.strides[d] or not n)]
    return sorted(axes, key=lambda d: -layout.strides[d])
