"""Packing: several tensors as one, flattened where a pattern has a star, and back again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from wgtorch.einops.pattern import check_name
from wgtorch.errors import EinopsError
from wgtorch.tensor import Tensor


@lru_cache(256)
def star(op: str, pattern: str) -> tuple[int, int]:
    """How many axes stand before the star and behind it."""
    if not isinstance(pattern, str):
        raise TypeError(f"{op}: the pattern must be a str, not {type(pattern).__name__}")
    axes = pattern.split()
    if len(set(axes)) != len(axes):
        raise EinopsError(f"{op}: the same axis twice in {pattern!r}")
    if axes.count("*") != 1:
        raise EinopsError(f"{op}: exactly one * must stand in {pattern!r}")
    for axis in axes:
        if axis != "*":
            check_name(axis, pattern, pattern.index(axis))
    place = axes.index("*")
    return place, len(axes) - place - 1


def pack(tensors: Sequence[Tensor], pattern: str) -> tuple[Tensor, list[tuple[int, ...]]]:
    """(one tensor, the shapes that the star stood for): `pack([a, b], "batch * channel")`.

    Each tensor's dimensions in place of the star become one, along which they are joined.
    """
    before, behind = star("pack", pattern)
    if not tensors:
        raise EinopsError(f"pack({pattern!r}): the list of tensors is empty")
    flat: list[Any] = []
    shapes: list[tuple[int, ...]] = []
    for place, tensor in enumerate(tensors):
        shape = tuple(tensor.shape)
        if len(shape) < before + behind:
            raise EinopsError(
                f"pack({pattern!r}): tensor {place} has shape {list(shape)}, but needs at least"
                f" {before + behind} dimensions"
            )
        end = len(shape) - behind
        shapes.append(shape[before:end])
        flat.append(tensor.reshape((*shape[:before], prod(shape[before:end]), *shape[end:])))
    return flat[0]._cat(tuple(flat), before), shapes


def unpack(tensor: Tensor, packed_shapes: Sequence[Sequence[int]], pattern: str) -> list[Tensor]:
    """What `pack` joined; one size of the shapes may be -1, which is what is left."""
    before, behind = star("unpack", pattern)
    shape = tuple(tensor.shape)
    if len(shape) != before + behind + 1:
        raise EinopsError(
            f"unpack({pattern!r}): the tensor has shape {list(shape)}, but the pattern"
            f" {before + behind + 1} dimensions"
        )
    shapes = [list(s) for s in packed_shapes]
    free = [s for s in shapes if -1 in s]
    if len(free) > 1 or any(s.count(-1) > 1 for s in free):
        raise EinopsError(f"unpack({pattern!r}): more than one -1 in {packed_shapes}")
    if free:
        rest = shape[before] - sum(prod(s) for s in shapes if -1 not in s)
        known = -prod(free[0])
        if not known or rest < 0 or rest % known:
            raise EinopsError(
                f"unpack({pattern!r}): {packed_shapes} do not fit a dimension of {shape[before]}"
            )
        free[0][free[0].index(-1)] = rest // known
    if sum(map(prod, shapes)) != shape[before]:
        raise EinopsError(
            f"unpack({pattern!r}): {packed_shapes} make up {sum(map(prod, shapes))}, the dimension"
            f" is {shape[before]}"
        )
    found, start = [], 0
    for part in shapes:
        piece: Any = tensor._slice(before, start, start + prod(part))  # type: ignore[attr-defined]
        found.append(piece.reshape((*shape[:before], *part, *shape[before + 1 :])))
        start += prod(part)
    return found
