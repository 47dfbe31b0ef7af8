"""Inputs that ops are tested on. Small, named for what makes them interesting."""

from __future__ import annotations

import numpy as np


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def positive(rng, *shape):
    return rng.uniform(0.1, 3, shape).astype(np.float32)


def inside(rng, *shape):
    """Within (-1, 1), away from the ends."""
    return rng.uniform(-0.9, 0.9, shape).astype(np.float32)


def integers(rng, *shape):
    return rng.integers(-5, 6, shape)


def nonzero(rng, *shape):
    return rng.integers(1, 6, shape) * rng.choice([-1, 1], shape)


def bools(rng, *shape):
    return rng.integers(0, 2, shape).astype(bool)


def apart(rng, *shape):
    """No two alike and none near an integer or zero: safe beside kinks."""
    numel = int(np.prod(shape))
    steps = rng.permutation(numel) - numel // 2
    return (steps.reshape(shape) * 0.37 + 0.11).astype(np.float32)


def unary(values=normal):
    def samples(rng):
        yield (values(rng, 3, 5),), {}
        yield (values(rng),), {}
        yield (values(rng, 4, 6).T[::2],), {}  # strided

    return samples


def binary(left=normal, right=None):
    right = right or left

    def samples(rng):
        yield (left(rng, 3, 5), right(rng, 3, 5)), {}
        yield (left(rng, 3, 1), right(rng, 5)), {}  # broadcasts
        yield (left(rng, 5, 3).T, right(rng, 3, 5)), {}  # strided
        yield (left(rng, 2, 1, 4), right(rng)), {}  # with a 0-d tensor

    return samples
