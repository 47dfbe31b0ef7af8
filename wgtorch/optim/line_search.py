"""A line search finds how far to go along a direction: far enough down, and where it flattens."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from wgtorch import Tensor

DOWN, FLAT = 1e-4, 0.9  # the two constants of the strong Wolfe conditions


class Point(NamedTuple):
    """A place on the line: loss, gradient, and slope along the line."""

    at: float
    loss: float
    grad: Tensor
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], Point],
    start: Point,
    first: float,
    length: float,
    tolerance: float,
    limit: int,
) -> Point:
    """A point that fulfils the strong Wolfe conditions, or the best of `limit` evaluations.

    Nocedal & Wright 2006, algorithm 3.5. `start` is at 0, `first` the first step to try and
    `length` that of the direction; intervals shorter than `tolerance` are not searched.
    """
    before, new = start, evaluate(first)
    for turn in range(limit):
        if not low_enough(new, start) or (turn > 1 and new.loss >= before.loss):
            return within(evaluate, start, before, new, length, tolerance, limit - turn)
        if flat_enough(new, start):
            return new
        if new.slope >= 0:
            return within(evaluate, start, before, new, length, tolerance, limit - turn)
        nearest = new.at + 0.01 * (new.at - before.at)
        before, new = new, evaluate(lowest(before, new, nearest, new.at * 10))
    return start if start.loss <= new.loss else new


def within(
    evaluate: Callable[[float], Point],
    start: Point,
    one: Point,
    other: Point,
    length: float,
    tolerance: float,
    limit: int,
) -> Point:
    """The same between two points (algorithm 3.6)."""
    low, high = (one, other) if one.loss <= other.loss else (other, one)
    stuck = False
    for _ in range(limit):
        if abs(high.at - low.at) * length < tolerance:
            break
        left, right = sorted((low.at, high.at))
        at, margin = lowest(low, high, left, right), 0.1 * (right - left)
        near = min(right - at, at - left) < margin
        if near and (stuck or not left < at < right):
            at = right - margin if right - at < at - left else left + margin
            near = False
        stuck = near
        new = evaluate(at)
        if not low_enough(new, start) or new.loss >= low.loss:
            low, high = (new, low) if new.loss < low.loss else (low, new)
            continue
        if flat_enough(new, start):
            return new
        low, high = new, low if new.slope * (high.at - low.at) >= 0 else high
    return low


def low_enough(new: Point, start: Point) -> bool:
    return not new.loss > start.loss + DOWN * new.at * start.slope


def flat_enough(new: Point, start: Point) -> bool:
    return abs(new.slope) <= -FLAT * start.slope


def lowest(one: Point, other: Point, least: float, most: float) -> float:
    """Where the cubic through both points, with their slopes, is lowest within the bounds."""
    left, right = (one, other) if one.at <= other.at else (other, one)
    mean = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.at - right.at)
    square = mean * mean - left.slope * right.slope
    below = right.slope - left.slope + 2 * max(square, 0.0) ** 0.5
    if not square >= 0 or below == 0:
        return (least + most) / 2
    part = (right.slope + square**0.5 - mean) / below
    return min(max(right.at - (right.at - left.at) * part, least), most)
