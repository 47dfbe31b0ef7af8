"""A pattern: what stands on its two sides, axis by axis, and whether that makes sense.

`b (h w) c` is three groups; a group is the axes that lie in one dimension. `...` is any number of
dimensions, `1` a dimension of size 1, another number an axis without a name.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from wgtorch.errors import EinopsError, build_einops_error, suggestion

DOTS = "..."
PATTERNS = 256  # so many are remembered


class Unnamed(NamedTuple):
    """An axis that is written as its size."""

    size: int
    place: int  # each stands for itself


Axis = str | Unnamed


@dataclass(frozen=True)
class Side:
    """One side of a pattern."""

    text: str
    groups: tuple[tuple[Axis, ...], ...]
    spread: int | None  # which group is an ellipsis outside of parentheses

    @property
    def axes(self) -> list[Axis]:
        return [axis for group in self.groups for axis in group]

    @property
    def names(self) -> set[str]:
        return {axis for axis in self.axes if isinstance(axis, str)}

    @property
    def has_dots(self) -> bool:
        return DOTS in self.names


@dataclass(frozen=True)
class Pattern:
    text: str
    left: Side
    right: Side


def tokens(text: str, whole: str, start: int) -> list[tuple[str, int]]:
    """Words, dots and parentheses, and where they stand."""
    found: list[tuple[str, int]] = []
    place = 0
    while place < len(text):
        letter = text[place]
        if letter.isspace():
            place += 1
            continue
        end = place + 1
        if letter == "." or letter == "…":
            end = place + (1 if letter == "…" else 3)
            if letter == "." and text[place:end] != DOTS:
                raise wrong("a dot may stand in an ellipsis (...) only", whole, start + place)
            found.append((DOTS, start + place))
        elif letter in "()":
            found.append((letter, start + place))
        elif letter.isalnum() or letter == "_":
            while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                end += 1
            found.append((text[place:end], start + place))
        else:
            raise wrong(f"unknown character {letter!r}", whole, start + place)
        place = end
    return found


def wrong(what: str, pattern: str, place: int) -> EinopsError:
    return build_einops_error(what, pattern, place)


def check_name(name: str, pattern: str, place: int) -> None:
    if not name.isidentifier():
        raise wrong(f"{name!r} is not a valid axis name", pattern, place)
    if name[0] == "_" or name[-1] == "_":
        raise wrong(
            f"axis name {name!r} should not start or end with an underscore", pattern, place
        )
    if keyword.iskeyword(name):
        raise wrong(f"axis name {name!r} is a Python keyword", pattern, place)


def side_of(text: str, whole: str, start: int) -> Side:
    groups: list[tuple[Axis, ...]] = []
    inner: list[Axis] | None = None
    spread: int | None = None
    seen: set[str] = set()
    for word, place in tokens(text, whole, start):
        if word == "(":
            if inner is not None:
                raise wrong("parentheses cannot stand in parentheses", whole, place)
            inner = []
            continue
        if word == ")":
            if inner is None:
                raise wrong("a closing parenthesis without an opening one", whole, place)
            groups.append(tuple(inner))
            inner = None
            continue
        axes: tuple[Axis, ...]
        if word.isdecimal():
            if not int(word):
                raise wrong("an axis of size 0 cannot be named by its size", whole, place)
            axes = () if word == "1" else (Unnamed(int(word), place),)
        else:
            if word in seen:
                twice = "more than one ellipsis" if word == DOTS else f"axis {word!r} twice"
                raise wrong(f"{twice} on one side", whole, place)
            if word != DOTS:
                check_name(word, whole, place)
            seen.add(word)
            axes = (word,)
        if inner is None:
            spread = len(groups) if word == DOTS else spread
            groups.append(axes)
        else:
            inner += axes
    if inner is not None:
        raise wrong("a parenthesis is not closed", whole, start + len(text))
    return Side(text.strip(), tuple(groups), spread)


@lru_cache(PATTERNS)
def parsed(pattern: str) -> Pattern:
    if not isinstance(pattern, str):
        raise TypeError(f"the pattern must be a str, not {type(pattern).__name__}")
    left, arrow, right = pattern.partition("->")
    if not arrow:
        raise EinopsError(f"pattern {pattern!r} has no '->' between its two sides")
    if "->" in right:
        raise EinopsError(f"pattern {pattern!r} has more than one '->'")
    return Pattern(
        pattern, side_of(left, pattern, 0), side_of(right, pattern, len(left) + len(arrow))
    )


def listed(names: set[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names))


def check(pattern: Pattern, op: str, sizes: tuple[str, ...]) -> None:
    """What each op asks of its two sides, and of the sizes that are given by name."""
    left, right = pattern.left, pattern.right
    if left.has_dots and left.spread is None:
        raise EinopsError(
            f"an ellipsis in parentheses may stand on the right side only: {pattern.text!r}"
        )
    if right.has_dots and not left.has_dots:
        raise EinopsError(f"an ellipsis on the right side, but none on the left: {pattern.text!r}")
    lost, new = left.names - right.names, right.names - left.names
    unnamed = [axis for axis in right.axes if isinstance(axis, Unnamed)]
    if op == "rearrange":
        if unnamed or any(isinstance(axis, Unnamed) for axis in left.axes):
            raise EinopsError(
                f"rearrange takes no axes that are written as their size, but 1: {pattern.text!r}"
            )
        if lost | new:
            raise EinopsError(one_sided(lost, new))
    elif op == "repeat":
        if lost:
            raise EinopsError(
                f"repeat cannot lose axes: {listed(lost)} on the left side only; use reduce"
            )
        missing = new - set(sizes)
        if missing:
            raise EinopsError(
                f"repeat needs sizes of new axes: give {', '.join(f'{n}=...' for n in missing)}"
            )
    else:
        if unnamed:
            raise EinopsError(
                f"{op} cannot make axes that are written as their size: {pattern.text!r}; use"
                " repeat"
            )
        if new:
            near = "".join(suggestion(name, left.names) for name in sorted(new))
            raise EinopsError(
                f"{op} cannot make new axes: {listed(new)} on the right side only;"
                f" use repeat.{near}"
            )
    check_sizes(sizes, left.names | right.names, pattern.text)


def one_sided(lost: set[str], new: set[str]) -> str:
    near = "".join(suggestion(name, lost) for name in sorted(new))
    return f"axes on one side only (they should be on both): {listed(lost | new)}.{near}"


def check_sizes(sizes: tuple[str, ...], known: set[str], pattern: str) -> None:
    for name in sizes:
        if name not in known:
            raise EinopsError(
                f"size of {name!r} given, but {pattern!r} has no such axis."
                f"{suggestion(name, known - {DOTS})}"
            )
