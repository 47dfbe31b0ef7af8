"""The random number generator: Philox 4x32-10, whose words depend on a counter and nothing else.

A draw is (seed, offset): its word i is lane i % 4 of the block of four words at counter
offset + i // 4. shaders/lib/random.wgsl computes the same words and numbers on the GPU, so a seed
gives the same numbers on every device. An offset counts blocks; the next draw starts `blocks(n)`
later.

Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # it takes a millisecond
    from numpy.typing import NDArray

    Words = NDArray[np.uint32]
    Lanes = tuple[NDArray[np.uint64], ...]

MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ROUNDS = 10
CHUNK = 1 << 14  # blocks at once: their lanes stay in the cache
UNIT = np.float32(2.0**-24)


def blocks(count: int) -> int:
    """How many counters a draw of `count` words uses up."""
    return -(-count // 4)


def philox(counter: Lanes, key: tuple[int, int]) -> Lanes:
    """The four words of each counter, given as four arrays of 32-bit lanes in uint64."""
    a, b, c, d = counter
    first, second = key
    for _ in range(ROUNDS):
        left, right = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a = (right >> HALF) ^ b ^ np.uint64(first)
        c = (left >> HALF) ^ d ^ np.uint64(second)
        b, d = right & LOW, left & LOW
        first, second = (first + WEYL[0]) & 0xFFFFFFFF, (second + WEYL[1]) & 0xFFFFFFFF
    return a, b, c, d


def words(seed: int, offset: int, count: int) -> Words:
    """The first `count` words of a draw; shape (count,)."""
    out = np.empty((blocks(count), 4), np.uint32)
    key = (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF)
    for start, stop in _chunks(len(out)):
        counter = np.arange(start, stop, dtype=np.uint64) + np.uint64(offset & (1 << 64) - 1)
        zero = np.zeros_like(counter)
        lanes = philox((counter & LOW, counter >> HALF, zero, zero), key)
        for lane, values in enumerate(lanes):
            out[start:stop, lane] = values
    return out.reshape(-1)[:count]


def _chunks(total: int) -> Iterator[tuple[int, int]]:
    for start in range(0, total, CHUNK):
        yield start, min(start + CHUNK, total)


def uniform(seed: int, offset: int, count: int) -> NDArray[np.float32]:
    """Multiples of 2^-24 in [0, 1), one word each."""
    return (words(seed, offset, count) >> np.uint32(8)).astype(np.float32) * UNIT


def normal(seed: int, offset: int, count: int) -> NDArray[np.float32]:
    """Standard normal numbers, two from two words by Box and Muller; within 8 ulp of the GPU's."""
    pairs = words(seed, offset, count + count % 2).reshape(-1, 2) >> np.uint32(8)
    above_zero = (pairs[:, 0] + np.uint32(1)).astype(np.float32) * UNIT
    radius = np.sqrt(np.float32(-2) * np.log(above_zero))
    # turned by whole quarters exactly, as on the GPU, so that cos(pi / 2) is 0
    turns = pairs[:, 1].astype(np.float32) * np.float32(2.0**-22)
    quarter = np.rint(turns)
    angle = (turns - quarter) * np.float32(np.pi / 2)
    turned = quarter.astype(np.int32)
    cosine, sine = np.cos(angle).view(np.int32), np.sin(angle).view(np.int32)
    swapped = (cosine ^ sine) & -(turned & 1)  # without branches, which cost more than both
    out = np.empty((len(pairs), 2), np.float32)
    for place, part, negative in ((0, cosine, turned + 1), (1, sine, turned)):
        bits = part ^ swapped ^ (negative & 2) << 30  # which is the sign's bit
        np.multiply(radius, bits.view(np.float32), out=out[:, place])
    return out.reshape(-1)[:count]


def exponential(seed: int, offset: int, count: int) -> NDArray[np.float32]:
    """Exponentially distributed numbers of rate 1, one word each."""
    drawn = (words(seed, offset, count) >> np.uint32(8)) + 1.0
    return (-np.log(drawn * 2.0**-24)).astype(np.float32)


def below(seed: int, offset: int, count: int, limit: int) -> Words:
    """Whole numbers below `limit` <= 2^32, one word each, uniform to within 2^-32."""
    drawn = words(seed, offset, count).astype(np.uint64) * np.uint64(limit)
    return (drawn >> HALF).astype(np.uint32)
