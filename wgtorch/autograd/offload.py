"""Saved tensors in host memory: `save_on_cpu`."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from wgtorch.autograd.parameters import is_parameter_memory
from wgtorch.autograd.prefetch import coming
from wgtorch.autograd.saved import Frozen
from wgtorch.autograd.saved_hooks import called, saved_tensors_hooks
from wgtorch.errors import OutOfMemoryError
from wgtorch.layout import Layout
from wgtorch.storage import Storage

_sent: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # what is on the host
_back: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # and again on a device


class save_on_cpu(saved_tensors_hooks):
    """Inside, tensors saved for backward wait in host memory, and return to their device for it.

    The copy is promised when a tensor is saved, and made when a submit passes by: it neither
    stalls nor cuts a fused kernel. Tensors of the cpu stay as they are; so do parameters, whose
    memory is needed anyway (`offload_parameters=True` moves them too). In backward, the tensors of
    the next `prefetch` nodes are sent for while one runs (None: of as many as help this device, 4
    on a GPU with memory of its own, 1 on another, 0 where the GPU is a program). A GPU with memory
    of its own copies while it computes; the last few that are saved, a sixteenth of what is in use
    there, wait for a kernel to copy beside, and never leave if backward wants them first.
    `save_on_cpu(fn)` returns `fn()` run inside. `device_type` is accepted for PyTorch's sake and
    not needed.
    """

    def __init__(
        self,
        pin_memory: bool = False,
        device_type: str | None = None,
        *,
        offload_parameters: bool = False,
        prefetch: int | None = None,
    ):
        if not isinstance(pin_memory, bool):
            raise TypeError(
                "save_on_cpu takes pin_memory (bool) or a function to run, not"
                f" {type(pin_memory).__name__}"
            )
        self.pin_memory, self.offload_parameters = pin_memory, offload_parameters
        if prefetch is not None:
            counted(prefetch, "save_on_cpu")
        self.prefetch = prefetch

        def pack(tensor: Any) -> Any:
            if tensor.device.type == "cpu" or (
                not offload_parameters and is_parameter_memory(tensor)
            ):
                return tensor.bare()
            nodes = prefetch
            if nodes is None:
                nodes = getattr(tensor.device.backend, "prefetch", 0)
            return Load(tensor, nodes)

        super().__init__(pack, unload)

    @classmethod
    def function_of(cls, args: tuple, kwargs: dict) -> tuple[Any, tuple, dict]:
        return function_first(args, kwargs)


def function_first(args: tuple, kwargs: dict) -> tuple[Any, tuple, dict]:
    """The function to run inside, where the first argument is one or `fn` is given."""
    if args and callable(args[0]):
        return args[0], args[1:], kwargs
    if "fn" in kwargs:
        rest = {name: value for name, value in kwargs.items() if name != "fn"}
        return called(kwargs["fn"]), args, rest
    return None, args, kwargs


def counted(prefetch: Any, who: str) -> int:
    """How many nodes to look ahead, checked."""
    if type(prefetch) is not int or prefetch < 0:
        raise ValueError(f"{who}: prefetch counts nodes, 0 or more; got {prefetch!r}")
    return prefetch


class Load:
    """A tensor on the host that is to come back with its strides.

    What travels is each element once, in the order of memory; an expanded axis travels as one, and
    what is saved in several slots travels once, both ways.
    """

    __slots__ = ("device", "host", "layout", "nodes", "order", "there")

    def __init__(self, tensor: Any, nodes: int = 0):
        layout, self.device = tensor.layout, tensor.device
        self.layout = Layout.of(layout.shape, layout.strides, 0)
        self.order = memory_order(layout)
        self.nodes = nodes  # how far to look ahead when this one is needed
        self.there: Any = None  # sent for ahead
        origin, what = source_of(tensor, self.order)
        sent = _sent.setdefault(origin, weakref.WeakValueDictionary())
        self.host = sent.get(what)
        if self.host is None:
            packed = tensor.over(tensor.storage, what[0])
            if not packed.is_whole and tensor.device.type != "cpu":
                packed = packed.clone()  # now: as a promise it would keep all of the base there
                self.device.backend.fill(packed.storage.value)
            self.host = sent[what] = packed.to("cpu")

    @property
    def nbytes(self) -> int:
        return self.host.storage.value.nbytes

    def holdings(self) -> Iterator[tuple[str, int, int]]:
        value = self.host.storage.value
        yield "host", id(value), value.nbytes

    def send_for(self) -> None:
        """Starts on its way back now."""
        if self.there is None:
            self.there = self.returned()
            value = self.there.storage.value
            if value.promise is not None:
                begin = getattr(value.promise, "begin", value.device.backend.fill)
                begin(value)

    def returned(self) -> Any:
        """What travelled, on its device; what another slot brought back if that is there still."""
        host = self.host
        storage, version = _back.get(host.storage.value, NOT_BACK)
        storage = storage()
        if storage is not None and storage.version == version:
            return host.over(Storage(storage.value), host.layout)
        there = host.to(self.device)
        _back[host.storage.value] = weakref.ref(there.storage), there.storage.version
        return there

    def back(self) -> Any:
        there, self.there = self.there, None
        return restrided(self.returned() if there is None else there, self.layout, self.order)


NOT_BACK = (lambda: None), 0


def source_of(tensor: Any, order: list[int]) -> tuple[Any, tuple[Layout, int]]:
    """(storage, (what travels of it, its version)): equal for all that would travel alike."""
    storage = tensor.storage
    origin = storage.origin() if type(storage) is Frozen else None
    shape, strides = dense(tensor.layout, order)
    return origin or storage, (Layout.of(shape, strides, tensor.layout.offset), storage.version)


def dense(layout: Layout, order: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of what travels."""
    shape = tuple([layout.shape[d] for d in order])
    return shape, tuple([layout.strides[d] for d in order])


def restrided(there: Any, layout: Layout, order: list[int]) -> Any:
    """What travelled, as the tensor that was saved."""
    there = there.contiguous()
    shape, strides = dense(layout, order)
    if Layout.of(shape, strides, 0).is_contiguous:
        return there.over(there.storage, layout)
    memory = there.new_zeros((layout.extent,))  # the saved view has gaps
    memory.as_strided(shape, strides, 0).copy_(there)
    return memory.over(memory.storage, layout)


def unload(packed: Any) -> Any:
    if type(packed) is not Load:
        return packed
    if packed.nodes:
        packed.send_for()  # in the order of need: what is read now is first
        with suppress(OutOfMemoryError):  # what is needed later may have room then
            for load in coming(Load, packed.nodes):
                load.send_for()
    return packed.back()


def memory_order(layout: Layout) -> list[int]:
    """The axes from the widest stride to the narrowest, without those that repeat or are single."""
    axes = [d for d, n in enumerate(layout.shape) if n != 1 and (layout.strides[d] or not n)]
    return sorted(axes, key=lambda d: -layout.strides[d])
