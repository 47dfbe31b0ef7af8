"""Verified hooks: whether unpack gives back what pack was given, asked while the answer helps.

A pair with check="values" is tried out at each pack: packed twice and unpacked twice, with another
tensor packed in between. What is wrong then is an error of the forward op, not a wrong gradient.
In a transform the pair is tried out on its tensors, and every sample is looked at.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from wgtorch.autograd.contents import parts_of
from wgtorch.storage import Storage, View

CHECKS = ("off", "metadata", "strict", "values")


class HookCheckError(RuntimeError):
    """A pair of saved-tensor hooks does not give back what it was given."""


def verify(pair: Any, tensor: Any, packed: Any, opened: Callable[[Any], Any], label: str) -> None:
    """Raises HookCheckError if the pair is wrong for this tensor, which it packed as `packed`.

    `opened` unpacks and looks at the metadata. `label` says whose tensor it is.
    """
    first = opened(packed)
    compare(first, tensor, pair.bound, f"unpack(pack(t)) is not t for {label}")
    same = (lambda other: other.new_zeros(()).float()) if pair.bound is not None else None
    try:
        second = opened(packed)
    except Exception as error:
        raise HookCheckError(
            f"unpack works only once for {label}; backward(retain_graph=True) unpacks again"
        ) from error
    compare(second, tensor, pair.bound, f"unpack gives something else the second time for {label}")
    compare(opened(pair.pack(tensor)), first, same, f"pack is not deterministic for {label}")
    probe = turned(tensor)
    gone = weakref.ref(probe.storage)
    other = pair.pack(probe)
    compare(
        opened(packed), tensor, pair.bound,
        f"packing another tensor changes what was packed before, for {label}",
    )  # fmt: skip
    del probe
    storage = gone()
    if storage is not None and not holds(other, storage):
        raise HookCheckError(
            f"pack keeps its input alive, outside of what it returns, for {label}: memory grows"
            " until whatever holds it is emptied"
        )


def turned(tensor: Any) -> Any:
    """A tensor like this one with other elements: those of this one, backwards."""
    return tensor.detach().reshape((-1,)).flip(0).clone().reshape(tensor.layout.shape)


def holds(packed: Any, storage: Storage, depth: int = 4) -> bool:
    """Whether what a pack function returned leads to a storage."""
    if isinstance(packed, View):
        return packed.storage is storage or getattr(packed.storage, "origin", None) is storage
    if hasattr(type(packed), "inside"):
        return any([holds(part, storage, depth) for part in packed.inside()])
    return depth > 0 and any(holds(part, storage, depth - 1) for part in parts_of(packed))


def compare(got: Any, want: Any, bound: Callable[[Any], Any] | None, complaint: str) -> None:
    """Every element of `got` within `bound(want)` of `want`; NaN equals NaN."""
    if not want.layout.numel:
        return
    got, want = got.detach(), want.detach()
    wrong = got != want
    if want.dtype.category > 1:
        wrong = wrong & ~(got.isnan() & want.isnan())
        if bound is not None:
            distance = (got - want).abs().float()
            wrong = wrong & ~(distance <= bound(want))
    found = grounded(wrong)
    count = int(found.sum())
    if count:
        got, want = [grounded(t.where(wrong, t)) for t in (got, want)]  # for as many samples
        raise HookCheckError(f"{complaint}: {worst(got, want, found, count, bound)}")


def grounded(tensor: Any) -> Any:
    """What a tensor of a vmap or a derivative holds, below all of them; batches come first."""
    while hasattr(tensor.storage.value.device.backend, "inside"):
        tensor = tensor.storage.value.device.backend.inside(tensor)
    return tensor


def worst(got: Any, want: Any, wrong: Any, count: int, bound: Any) -> str:
    """The wrong element that is farthest off, in words."""
    distance = (got.cpu().double() - want.cpu().double()).abs()
    distance = distance.nan_to_num(float("inf")).masked_fill(~wrong.cpu(), -1)
    place, where = int(distance.argmax()), []
    for size in reversed(want.layout.shape):
        place, at = divmod(place, size)
        where.insert(0, at)
    index = tuple(where)
    allowed = "" if bound is None else " by more than the pair says"
    return (
        f"element {list(index)} came back as {got[index].item()!r} instead of"
        f" {want[index].item()!r} ({count} of {want.layout.numel} differ{allowed})"
    )
