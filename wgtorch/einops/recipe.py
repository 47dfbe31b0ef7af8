"""A recipe: what a pattern asks of a tensor of a given shape, as sizes and orders of dimensions."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

from wgtorch.einops.pattern import DOTS, Axis, Pattern, Side, Unnamed, check, parsed
from wgtorch.errors import EinopsError

RECIPES = 1024  # so many are remembered


class Recipe(NamedTuple):
    """Each step works on what the one before left; None is nothing to do."""

    split: tuple[int, ...]  # one dimension for each axis of the left side
    lost: tuple[int, ...]  # dimensions to reduce, of those
    order: tuple[int, ...]  # of what is left
    added: tuple[int, ...]  # where new dimensions go, in ascending order
    expanded: tuple[int, ...]  # sizes with those
    merged: tuple[int, ...]  # one dimension for each group of the right side


@lru_cache(RECIPES)
def recipe(
    text: str, op: str, shape: tuple[int, ...], sizes: tuple[tuple[str, int], ...]
) -> Recipe:
    """Raises EinopsError with the pattern, the shape and the sizes in it."""
    try:
        pattern = parsed(text)
        check(pattern, op, tuple(name for name, _ in sizes))
        return worked_out(pattern, shape, dict(sizes))
    except EinopsError as error:
        given = ", ".join(f"{name}={size}" for name, size in sizes)
        raise EinopsError(
            f"{error}\n  {op}({text!r}) of a tensor of shape {list(shape)}"
            f"{' with ' + given if given else ''}"
        ) from None


def dots_named(count: int) -> list[str]:
    return [f"{DOTS}{k}" for k in range(count)]


def unfolded(side: Side, hidden: list[str]) -> list[list[Axis]]:
    """The groups, with an axis for each dimension that dots stand for."""
    found: list[list[Axis]] = []
    for place, group in enumerate(side.groups):
        if place == side.spread:
            found += [[name] for name in hidden]
        else:
            found.append([a for axis in group for a in (hidden if axis == DOTS else [axis])])
    return found


def worked_out(pattern: Pattern, shape: tuple[int, ...], sizes: dict[str, int]) -> Recipe:
    left = pattern.left
    count = len(shape) - len(left.groups) + left.has_dots
    if count < 0 or (count and not left.has_dots):
        least = "at least " if left.has_dots else ""
        raise EinopsError(
            f"wrong number of dimensions: the pattern has {least}"
            f"{len(left.groups) - left.has_dots}, the tensor {len(shape)}"
        )
    hidden = dots_named(count if left.has_dots else 0)
    known: dict[Axis, int] = {}
    for name, size in sizes.items():
        known[name] = whole(name, size)
    groups = unfolded(left, hidden)
    for group, length in zip(groups, shape, strict=True):
        measure(group, length, known)
    for axis in pattern.right.axes:
        if isinstance(axis, Unnamed):
            known[axis] = axis.size
    before = [axis for group in groups for axis in group]
    right = unfolded(pattern.right, hidden)
    after = [axis for group in right for axis in group]
    kept = [axis for axis in before if axis in after]
    return Recipe(
        split=tuple(known[axis] for axis in before),
        lost=tuple(k for k, axis in enumerate(before) if axis not in after),
        order=tuple(kept.index(axis) for axis in after if axis in kept),
        added=tuple(k for k, axis in enumerate(after) if axis not in kept),
        expanded=tuple(known[axis] for axis in after),
        merged=tuple(prod(known[axis] for axis in group) for group in right),
    )


def whole(name: str, size: object) -> int:
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise EinopsError(f"the size of {name!r} must be a whole number, not {size!r}")
    return size


def measure(group: list[Axis], length: int, known: dict[Axis, int]) -> None:
    """The sizes of a group's axes, one of which may be unknown."""
    for axis in group:
        if isinstance(axis, Unnamed):
            known[axis] = axis.size
    unknown = [axis for axis in group if axis not in known]
    inside = prod(known[axis] for axis in group if axis in known)
    said = f"({' '.join(str(a.size if isinstance(a, Unnamed) else a) for a in group)})"
    if len(unknown) > 1:
        raise EinopsError(
            f"cannot infer sizes of {', '.join(map(str, unknown))} in {said}: give all but one"
        )
    if not unknown:
        if inside != length:
            raise EinopsError(f"shape mismatch: {said} is {inside}, the dimension {length}")
    elif not inside or length % inside:
        raise EinopsError(
            f"shape mismatch: a dimension of {length} cannot be divided into chunks of {inside} for"
            f" {said}"
        )
    else:
        known[unknown[0]] = length // inside
