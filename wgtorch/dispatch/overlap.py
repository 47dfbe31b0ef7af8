"""Overlap: what is written to must not be memory that is read elsewhere, nor twice the same.

The result would depend on the order of writing. Here it does not, as values never change; but a
program that PyTorch refuses is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from wgtorch.autograd.transforms.level import levels
from wgtorch.layout import overlap
from wgtorch.op import Op
from wgtorch.storage import Lens, View, memory_of

if TYPE_CHECKING:
    from wgtorch.tensor import Tensor

CLONE = "Please clone() the tensor before performing the operation."


def check_distinct(target: View) -> None:
    """Refuses a target that has several elements in one place, as after `expand`."""
    if target.layout.overlaps:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a"
            f" single memory location. {CLONE}"
        )


def check_apart(target: View, read: Iterable[Any], how: str) -> None:
    """Refuses to write to what is read, too: to a "part" of a tensor of `read`, or to "all"."""
    if levels.stack:
        return  # the samples of a batch lie apart, with gaps
    memory = memory_of(target.storage)
    for other in read:
        if isinstance(other, View):
            if memory_of(other.storage) is not memory:
                continue
            if other is target:
                shared = "all"
            else:
                shared = overlap(target.layout, other.layout, (size_in(target), size_in(other)))
            if shared and how in ("all", shared):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to"
                    f" tensor refer to a single memory location. {CLONE}"
                )
        elif isinstance(other, list | tuple):
            check_apart(target, other, how)


def size_in(view: View) -> int:
    storage = view.storage
    return (storage.dtype if type(storage) is Lens else storage.value.dtype).itemsize


def apartness(op: Op) -> tuple[Callable[..., bool], Callable[..., None]]:
    """What asks whether some of an op's result might be written to what the op reads, and what then
    refuses to; of the tensor written to, and of the op's arguments but that one."""
    how, names = op.apart, [*op.parameters]
    others = {name for name, mark in op.markers.items() if mark == "Other"}  # read before

    def check(target: Any, args: tuple, given: dict[str, Any], skipped: int = 0) -> None:
        pairs = [*zip(names[skipped:], args, strict=False), *given.items()]
        check_apart(target, [value for name, value in pairs if name not in others], how)

    return {"": never, "part": may_share, "all": always}[how], check


def never(target: Tensor, args: tuple, given: dict[str, Any] | None = None) -> bool:
    return False


def always(target: Tensor, args: tuple, given: dict[str, Any] | None = None) -> bool:
    return True


def may_share(target: Tensor, args: tuple, given: dict[str, Any] | None = None) -> bool:
    """Whether one of the arguments may be another view of the memory of `target`."""
    if given:
        return True
    storage = target.storage
    for other in args:
        if isinstance(other, View) and (
            (other.storage is storage and other.layout is not target.layout)
            or type(other.storage) is Lens
            or type(storage) is Lens
        ):
            return True
    return False
