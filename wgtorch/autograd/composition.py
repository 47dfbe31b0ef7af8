"""Pairs of hooks made of others: one after the other, for some tensors, for one module, shared."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from wgtorch.autograd.ledger import holdings
from wgtorch.autograd.mode import state
from wgtorch.autograd.saved_hooks import saved_tensors_hooks
from wgtorch.autograd.verified import CHECKS
from wgtorch.storage import Storage, View


def compose_hooks(outer: saved_tensors_hooks, inner: saved_tensors_hooks) -> saved_tensors_hooks:
    """One pair of two: packs with `inner`, then `outer`; unpacks the other way round.

    Where `inner` makes several tensors of one (as `compress` does), `outer` packs each of them:
    `compose_hooks(save_on_cpu(), compress("int8"))` sends a quarter of the bytes.
    """

    first, last = alone(inner), alone(outer)

    def pack(tensor: Any) -> Any:
        packed = first.pack_hook(tensor)
        parts = Parts(packed)
        return parts.packed_by(last.pack_hook) if parts.packed else last.pack_hook(packed)

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
    """What a pack function returned, and what another made of the tensors in it."""

    __slots__ = ("frame", "packed", "place")
    wraps = True  # what is in `packed` may be sent for ahead

    def __init__(self, packed: Any):
        self.place = getattr(packed, "place", None)  # what a report says
        self.packed: list[Any] = []
        self.frame = None if isinstance(packed, View) else mapped(packed, self.add)
        if self.frame is None:
            self.packed = []

    def add(self, tensor: Any) -> Place:
        self.packed.append(tensor)
        return Place(len(self.packed) - 1)

    def packed_by(self, pack: Callable) -> Parts:
        self.packed = [pack(tensor) for tensor in self.packed]
        return self

    def unpacked_by(self, unpack: Callable) -> Any:
        tensors = [unpack(packed) for packed in self.packed]
        return mapped(self.frame, lambda place: tensors[place], Place)


class Place(int):
    """Stands for a tensor in a frame."""


def mapped(packed: Any, function: Callable, kind: type = View) -> Any:
    """A container again, with `function` of each tensor in it; others as they are."""
    if isinstance(packed, kind):
        return function(packed)
    if hasattr(type(packed), "mapped"):
        return packed.mapped(lambda part: mapped(part, function, kind))
    if isinstance(packed, tuple | list):
        parts = [mapped(part, function, kind) for part in packed]
        return type(packed)(*parts) if hasattr(packed, "_fields") else type(packed)(parts)
    if isinstance(packed, dict):
        return {name: mapped(part, function, kind) for name, part in packed.items()}
    return packed


class Chosen:
    """What the pair of a `pair_if` made of a tensor, to tell it from a tensor left alone."""

    __slots__ = ("packed", "place", "unpack")
    wraps = True  # what is in `packed` may be sent for ahead

    def __init__(self, pair: saved_tensors_hooks, tensor: Any):
        self.packed, self.unpack = pair.pack_hook(tensor), pair.unpack_hook
        self.place = getattr(self.packed, "place", None)  # what a report says

    def holdings(self) -> Any:
        return holdings(self.packed)


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
    wraps = True

    def __init__(self, packed: Any):
        self.packed = packed
        self.place = getattr(packed, "place", None)  # what a report says
        self.there: Any = None  # weakly: the storage it was unpacked into, its version and layout

    def holdings(self) -> Any:
        return holdings(self.packed)


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
