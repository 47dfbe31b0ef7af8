"""Pairs of hooks made of others: one after the other, for some tensors, for one module, shared."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
from typing import Any

from wgtorch.autograd.contents import mapped
from wgtorch.autograd.mode import state
from wgtorch.autograd.saved_hooks import saved_tensors_hooks
from wgtorch.autograd.verified import CHECKS
from wgtorch.storage import Storage, View


def compose_hooks(outer: saved_tensors_hooks, inner: saved_tensors_hooks) -> saved_tensors_hooks:
    """One pair of two: packs with `inner`, then `outer`; unpacks the other way round.

    Where `inner` makes several tensors of one (as `compress` does), `outer` packs each of them:
    `compose_hooks(save_on_cpu(), compress("int8"))` sends a quarter of the bytes. What `inner` has
    put elsewhere already, `outer` leaves there; another object without tensors it is given whole.
    Pairs that are composed, chosen by `pair_if` or shared may be composed again.
    """

    first, last = alone(inner), alone(outer)

    def pack(tensor: Any) -> Any:
        parts = Parts(first.pack_hook(tensor), last.pack_hook)
        if type(parts.frame) is Place and type(parts.packed[0]) is not Parts:
            return parts.packed[0]
        return parts

    def unpack(packed: Any) -> Any:
        if type(packed) is Parts:
            return first.unpack_hook(packed.unpacked_by(last.unpack_hook))
        return first.unpack_hook(last.unpack_hook(packed))

    def bound(tensor: Any) -> Any:
        return inner.bound(tensor) + outer.bound(tensor)

    check = max(outer.check, inner.check, key=CHECKS.index)
    lossy = [pair for pair in (outer, inner) if pair.rtol or pair.atol]
    atol = bound if lossy else None
    if first is inner and last is outer:
        return saved_tensors_hooks(pack, unpack, check=check, atol=atol)
    return share_packed(saved_tensors_hooks(pack, unpack, check=check, atol=atol))


def alone(pair: saved_tensors_hooks) -> saved_tensors_hooks:
    """A pair without the sharing that it does itself."""
    return getattr(pair, "alone", pair)


class Parts:
    """What a pack function returned, with places for tensors in it (`frame`), and what another
    made of those tensors (`packed`)."""

    __slots__ = ("frame", "packed", "place")

    def __init__(self, made: Any, pack: Callable):
        self.place = getattr(made, "place", None)  # what a report says
        self.packed: list[Any] = []

        def add(part: Any) -> Place:
            self.packed.append(pack(part))
            return Place(len(self.packed) - 1)

        self.frame = mapped(made, add)
        if not self.packed:
            self.frame = as_whole(made, add)

    def unpacked_by(self, unpack: Callable) -> Any:
        parts = [unpack(packed) for packed in self.packed]
        return mapped(self.frame, lambda place: parts[place], Place)

    def inside(self) -> list[Any]:
        return [*self.packed, self.frame]

    def mapped(self, function: Callable) -> Parts:
        made = copy(self)
        made.packed = [function(packed) for packed in self.packed]
        return made


class Place(int):
    """Stands for a tensor in a frame."""


def as_whole(made: Any, function: Callable) -> Any:
    """What holds no tensor, given to `function`, unless it is a tensor that is elsewhere."""
    kind = type(made)
    if hasattr(kind, "inside"):
        around = hasattr(kind, "mapped")
        return made.mapped(lambda part: as_whole(part, function)) if around else made
    return made if hasattr(kind, "holdings") else function(made)


class Chosen:
    """What the pair of a `pair_if` made of a tensor, to tell it from a tensor left alone."""

    __slots__ = ("packed", "place", "unpack")

    def __init__(self, pair: saved_tensors_hooks, tensor: Any):
        self.packed, self.unpack = pair.pack_hook(tensor), pair.unpack_hook
        self.place = getattr(self.packed, "place", None)  # what a report says

    def inside(self) -> tuple[Any]:
        return (self.packed,)

    def mapped(self, function: Callable) -> Chosen:
        made = copy(self)
        made.packed = function(self.packed)
        return made


def pair_if(
    predicate: Callable[[str, str, Any], bool],
    pair: saved_tensors_hooks,
    otherwise: saved_tensors_hooks | None = None,
) -> saved_tensors_hooks:
    """`pair` for the tensors of which `predicate(op, slot, tensor)` says so; else as they are.

    `op` is a name as in `saved_tensor_report`, such as "linear"; `slot` what its formula calls
    the tensor: "input", "weight", "result". `otherwise` is another pair for the rest.

    Example::

        pair_if(lambda op, slot, t: op == "gelu", compress("int8"), otherwise=save_on_cpu())
    """

    def pack(tensor: Any) -> Any:
        op, slot = state.slot or ("", "")
        chosen = pair if predicate(op, slot, tensor) else otherwise
        return tensor if chosen is None else Chosen(chosen, tensor)

    def unpack(packed: Any) -> Any:
        return packed.unpack(packed.packed) if type(packed) is Chosen else packed

    def bound(tensor: Any) -> Any:
        op, slot = state.slot or ("", "")
        chosen = pair if predicate(op, slot, tensor) else otherwise
        return 0.0 if chosen is None else chosen.bound(tensor)

    pairs = [pair] if otherwise is None else [pair, otherwise]
    check = max((p.check for p in pairs), key=CHECKS.index)
    lossy = any(p.rtol or p.atol for p in pairs)
    return saved_tensors_hooks(pack, unpack, check=check, atol=bound if lossy else None)


class hooks_for:
    """Has a module run its `forward` under a pair, each time; others save as they did.

    `remove()`, or the end of a `with` block, takes the pair off again.
    """

    def __init__(self, module: Any, pair: AbstractContextManager):
        if not hasattr(module, "register_forward_pre_hook"):
            raise TypeError(f"hooks_for: expected a Module, got {type(module).__name__}")
        self.handles = [
            module.register_forward_pre_hook(lambda module, args: pair.__enter__()),
            module.register_forward_hook(
                lambda module, args, out: pair.__exit__(None, None, None), always_call=True
            ),
        ]

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> hooks_for:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Shared:
    """What several slots of one memory were packed as, and what it came back as."""

    __slots__ = ("__weakref__", "packed", "place", "there")

    def __init__(self, packed: Any):
        self.packed = packed
        self.place = getattr(packed, "place", None)  # what a report says
        self.there: Any = None  # weakly: the storage it was unpacked into, its version and layout

    def inside(self) -> tuple[Any]:
        return (self.packed,)

    def mapped(self, function: Callable) -> Shared:
        return Shared(function(self.packed))


class Shares:
    """Packed tensors by the memory they were made of: its live identity, never its address."""

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self.known: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def pack(self, tensor: Any) -> Any:
        storage = tensor.storage
        made = self.known.setdefault(storage.value, weakref.WeakValueDictionary())
        key = tensor.layout, storage.version
        shared = made.get(key)
        if shared is None:
            packed = self.pack_hook(tensor)
            if packed is tensor:
                return tensor
            shared = made[key] = Shared(packed)
        return shared

    def unpack(self, shared: Any) -> Any:
        if type(shared) is not Shared:
            return self.unpack_hook(shared)
        if shared.there is not None:
            storage, version, layout, tensor = shared.there
            storage = storage()
            if storage is not None and storage.version == version:
                return tensor(Storage(storage.value), layout)
        tensor = self.unpack_hook(shared.packed)
        if isinstance(tensor, View):
            there = weakref.ref(tensor.storage), tensor.storage.version
            shared.there = *there, tensor.layout, type(tensor)
        return tensor


def share_packed(pair: saved_tensors_hooks) -> saved_tensors_hooks:
    """The pair, run once for all slots that save the same elements, and once to bring them back.

    For pairs whose packing depends on nothing but the tensor. `save_on_cpu` and `compress` share
    by themselves.
    """
    shares = Shares(pair.pack_hook, pair.unpack_hook)
    lossy = pair.rtol or pair.atol
    sharing = saved_tensors_hooks(
        shares.pack, shares.unpack, check=pair.check, atol=pair.bound if lossy else None
    )
    sharing.alone = pair
    return sharing
