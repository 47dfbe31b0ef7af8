"""Shapes, by the array API standard: arrays joined, taken apart, broadcast and turned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.array_api.dtypes import result_type

__all__ = ["broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis",
           "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile",
           "unstack"]  # fmt: skip


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Views of one shape."""
    return list(wgtorch.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """A view of that shape."""
    return wgtorch.broadcast_to(x, tuple(shape))


def promoted(arrays: Sequence[Tensor]) -> list[Tensor]:
    dtype = result_type(*arrays)
    return [x.to(dtype) for x in arrays]


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """One behind the other along an axis; flattened first where that is None."""
    parts = promoted(arrays)
    if axis is None:
        return wgtorch.cat([x.flatten() for x in parts])
    return wgtorch.cat(parts, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Beside each other along a new axis."""
    return wgtorch.stack(promoted(arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The layers along an axis."""
    return tuple(x.unbind(axis))


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """A new axis of size 1 there."""
    return x.unsqueeze(axis)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Without axes, which must have size 1."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if any(x.shape[d] != 1 for d in axes):
        raise ValueError(f"squeeze: axes {axes} of shape {tuple(x.shape)} are not all of size 1")
    return x.squeeze(axes)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """In reverse order along axes; None: along all."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return x.flip(tuple(axes))


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Moved around along axes; None: as if flattened."""
    return wgtorch.roll(x, shift, axis)


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """With axes at other places, the rest in order."""
    return x.movedim(source, destination=destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """With axes in another order."""
    return x.permute(tuple(axes))


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """In another shape; a view where it can be, or never (`copy`), or else an error (False)."""
    if copy is False:
        try:
            return x.view(tuple(shape))
        except RuntimeError as error:
            raise ValueError(f"reshape: {error}") from None
    return x.clone().reshape(tuple(shape)) if copy else x.reshape(tuple(shape))


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element as often as `repeats` says, along an axis; None: of the flattened array."""
    counts = repeats.to(wgtorch.int64) if isinstance(repeats, Tensor) else repeats
    return wgtorch.repeat_interleave(x, counts, axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The whole array, as often along each axis."""
    return wgtorch.tile(x, tuple(repetitions))
