"""A budget for saved tensors on their device: `device_budget`.

What is saved first is needed last, so when the budget is spent the oldest tensors go: through
another pair of hooks, to the host, to a disk, into fewer bits, or away to be computed again.
"""

from __future__ import annotations

import weakref
from collections import deque
from threading import RLock
from typing import Any

from wgtorch.autograd import saved
from wgtorch.autograd.contents import holdings, moved
from wgtorch.autograd.offload import save_on_cpu
from wgtorch.autograd.parameters import is_parameter_memory
from wgtorch.autograd.saved_hooks import saved_tensors_hooks


class device_budget(saved_tensors_hooks):
    """Inside, tensors saved for backward take at most `mib` MiB of their device.

    Beyond that, those saved first go where `then` puts them: a pair of functions (pack, unpack), a
    context such as `save_on_cpu()` (which is the default), `spill_to_disk()` or a compression.
    What `then` leaves on the device counts, too. For a moment a tensor just saved may be above the
    budget, never more. Tensors of less than `min_size` bytes count, but stay; parameters do not
    count. `budget.held` and `budget.peak` are in bytes; `budget.evicted` is what has gone.
    """

    def __init__(self, mib: float, then: Any = None, *, min_size: int = 0):
        if isinstance(mib, bool) or not isinstance(mib, int | float) or not mib >= 0:
            raise ValueError(f"device_budget: the budget is a size in MiB, not {mib!r}")
        self.purse = Purse(int(mib * 2**20), *pair_of(then), min_size)
        super().__init__(self.purse.pack, unpack)

    @property
    def held(self) -> int:
        return self.purse.held

    @property
    def peak(self) -> int:
        return self.purse.peak

    @property
    def evicted(self) -> int:
        return self.purse.evicted


def pair_of(then: Any) -> tuple[Any, Any]:
    """(pack, unpack) of what `then` may be."""
    if then is None:
        then = save_on_cpu
    if isinstance(then, type) and issubclass(then, saved_tensors_hooks):
        then = then()  # type: ignore[call-arg]
    if isinstance(then, saved_tensors_hooks):
        return then.pack_hook, then.unpack_hook
    if isinstance(then, tuple | list) and len(then) == 2 and all(map(callable, then)):
        return then[0], then[1]
    raise TypeError(
        "device_budget: `then` is a context of saved-tensor hooks, such as save_on_cpu(), or a pair"
        f" of functions (pack, unpack); got {type(then).__name__}"
    )


class Purse:
    """What one context holds, in the order in which it was saved."""

    def __init__(self, budget: int, then_pack: Any, then_unpack: Any, min_size: int):
        self.budget, self.min_size = budget, min_size
        self.then_pack, self.then_unpack = then_pack, then_unpack
        self.paid = self.peak = self.evicted = 0
        self.gone: deque[list[int]] = deque()  # shares of what died, wherever that was
        self.order: deque[weakref.ref[Memory]] = deque()  # that can be evicted, oldest first
        self.known: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.lock = RLock()

    def pack(self, tensor: Any) -> Any:
        if is_parameter_memory(tensor):
            return tensor.bare()
        kept = Kept(self, tensor)
        with self.lock:
            if kept.memory.is_out:
                self.send(kept.memory, [kept])
            self.peak = max(self.peak, self.held)
            while self.held > self.budget and self.order:
                memory = self.order.popleft()()
                if memory is not None:
                    self.evict(memory)
        return kept

    @property
    def held(self) -> int:
        with self.lock:
            while self.gone:
                self.paid -= self.gone.popleft()[0]
            return self.paid

    def memory(self, tensor: Any) -> Memory:
        """That of a tensor; whoever else keeps the same has it already."""
        value = tensor.storage.value
        with self.lock:
            known = self.known.get(value)
            memory = None if known is None else known()
            if memory is None:
                memory = Memory(self, value)
                reference = self.known[value] = weakref.ref(memory)
                if value.nbytes >= self.min_size:
                    self.order.append(reference)
        return memory

    def evict(self, memory: Memory) -> None:
        """Packs all that keeps this memory anew; on an error they keep it."""
        slots = [kept for kept in [reference() for reference in memory.slots] if kept is not None]
        try:
            self.send(memory, slots)
        except BaseException:
            self.order.appendleft(weakref.ref(memory))
            raise
        self.evicted += memory.nbytes

    def send(self, memory: Memory, slots: list[Kept]) -> None:
        """Puts what these slots keep where it is to be from now on."""
        packed = [self.then_pack(kept.packed) for kept in slots]
        for kept, what in zip(slots, packed, strict=True):
            kept.packed, kept.is_out = what, True
            moved(kept)
        memory.is_out, memory.frozen = True, None
        there = [kept.packed for kept in [reference() for reference in memory.slots] if kept]
        memory.pay(sum(left_on(memory.place, there).values()))


def left_on(place: str, packed: Any) -> dict[Any, int]:
    """Bytes of what was packed that are where it was."""
    return {key: nbytes for where, key, nbytes in holdings(packed) if where == place}


class Memory:
    """A Value that saved tensors keep alive: its bytes are held until it is out, or they die."""

    __slots__ = ("__weakref__", "frozen", "is_out", "nbytes", "place", "purse", "share", "slots")

    def __init__(self, purse: Purse, value: Any):
        self.purse, self.nbytes = purse, value.nbytes
        self.place = "host" if value.device.type == "cpu" else "device"
        self.slots: list[weakref.ref[Kept]] = []
        self.is_out = False
        self.frozen: Any = None  # one storage for all slots, by which `then` knows them as one
        self.share = [0]
        # a finalizer may run while any lock is held, so it takes none
        weakref.finalize(self, purse.gone.append, self.share).atexit = False
        self.pay(self.nbytes)

    def seen_as(self, tensor: Any) -> Any:
        """The tensor as it is now, without a past."""
        if self.frozen is None:
            frozen = type(tensor.storage) is saved.Frozen
            self.frozen = (tensor if frozen else saved.snapshot(tensor)).storage
        return tensor.over(self.frozen, tensor.layout)

    def pay(self, nbytes: int) -> None:
        """Its share of what is held becomes `nbytes`."""
        with self.purse.lock:
            self.purse.paid += nbytes - self.share[0]
            self.share[0] = nbytes


class Kept:
    """What stands for a saved tensor: in `packed` the tensor as it was, or what became of it."""

    __slots__ = ("__weakref__", "is_out", "memory", "packed", "purse", "watchers")

    def __init__(self, purse: Purse, tensor: Any):
        self.purse, self.memory = purse, purse.memory(tensor)
        self.packed: Any = self.memory.seen_as(tensor)
        self.is_out = False
        self.watchers: list[Any] = []
        self.memory.slots.append(weakref.ref(self))

    def inside(self) -> tuple[Any]:
        return (self.packed,)


def unpack(kept: Any) -> Any:
    if type(kept) is not Kept:
        return kept
    return kept.purse.then_unpack(kept.packed) if kept.is_out else kept.packed
