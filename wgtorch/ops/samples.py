"""Samples: the inputs that ops are tested on, small and named for what makes them interesting."""

from __future__ import annotations

import numpy as np


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def positive(rng, *shape):
    return rng.uniform(0.1, 3, shape).astype(np.float32)


def inside(rng, *shape):
    """Within (-1, 1), away from the ends."""
    return rng.uniform(-0.9, 0.9, shape).astype(np.float32)


def share(rng, *shape):
    """Within (0, 1), away from the ends."""
    return rng.uniform(0.1, 0.9, shape).astype(np.float32)


def beyond(rng, *shape):
    """Above 1, away from it."""
    return rng.uniform(1.1, 4, shape).astype(np.float32)


def distant(rng, *shape):
    """Of either sign and at least 0.3 from zero: good to divide by."""
    return (rng.uniform(0.3, 3, shape) * rng.choice([-1, 1], shape)).astype(np.float32)


def wide(rng, *shape):
    """Up to 30 in size, where exponentials saturate."""
    return (rng.standard_normal(shape) * 10).astype(np.float32)


def integers(rng, *shape):
    return rng.integers(-5, 6, shape)


def nonzero(rng, *shape):
    return rng.integers(1, 6, shape) * rng.choice([-1, 1], shape)


def bools(rng, *shape):
    return rng.integers(0, 2, shape).astype(bool)


def apart(rng, *shape):
    """No two alike and none near a multiple of 1/2: safe beside kinks."""
    numel = int(np.prod(shape))
    steps = rng.permutation(numel) - numel // 2
    return (steps.reshape(shape) * (19 / 62) + 1 / 124).astype(np.float32)


def above(rng, *shape):
    """Like `apart`, shifted a little: never equal to one of those."""
    return apart(rng, *shape) + np.float32(0.17)


def unary(values=normal):
    """One operand; the first sample has 15 elements, no multiple of the four of a kernel."""

    def samples(rng):
        yield (values(rng, 3, 5),), {}

    return samples


def binary(left=normal, right=None):
    """Two operands of one shape, then broadcasting both ways."""
    right = right or left

    def samples(rng):
        yield (left(rng, 3, 5), right(rng, 3, 5)), {}
        yield (left(rng, 2, 1, 4), right(rng, 3, 1)), {}

    return samples


def options(values, *choices):
    """One operand, once with each choice of attributes."""

    def samples(rng):
        for attrs in choices:
            yield (values(rng, 3, 5),), attrs

    return samples


def ties(rng, *shape):
    """Whole numbers, some of them equal, as floats."""
    return integers(rng, *shape).astype(np.float32)
