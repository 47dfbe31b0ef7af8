"""Poisson numbers, drawn by keys.

Small rates multiply uniform numbers until they fall below e^-rate (Knuth); large ones are drawn
from a curve that lies above the distribution, and rejected where they do not belong (PTRS:
Hormann, The transformed rejection method for generating Poisson random variables, 1993).
shaders/poisson.wgsl computes the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wgtorch.dtype import float32
from wgtorch.op import Other, Structured, composite, declare
from wgtorch.ops.keyed import Floats, Keys, blocks, each_drawn, keys_of, rejected
from wgtorch.ops.noise import fresh
from wgtorch.ops.requirements import require

LARGE = 10  # from this rate on PTRS is used, which needs it


def multiplied(rates: Floats, keys: Keys) -> Floats:
    """How many uniform numbers it takes until their product is below e^-rate, less one."""
    product, floor = np.ones_like(rates), np.exp(-rates)
    count, going = np.zeros_like(rates), np.ones(len(rates), bool)
    for open_, four in blocks(keys, going):
        for numbers in four:
            product[open_] *= numbers
            going[open_] &= product[open_] > floor[open_]
            count[open_] += going[open_]
    return count


def tried(rate: Floats, u: Floats, v: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """(a number, whether it is accepted)."""
    b = np.float32(0.931) + np.float32(2.53) * np.sqrt(rate)
    a = np.float32(-0.059) + np.float32(0.02483) * b
    away = np.float32(0.5) - np.abs(u)
    k = np.floor((2 * a / away + b) * u + rate + np.float32(0.43))
    surely = (away >= 0.07) & (v <= np.float32(0.9277) - np.float32(3.6224) / (b - 2))
    never = (k < 0) | ((away < 0.013) & (v > away))
    height = v * (np.float32(1.1239) + np.float32(1.1328) / (b - np.float32(3.4)))
    below = np.log(height / (a / (away * away) + b)) <= log_chance(np.maximum(k, 0), rate)
    return k, surely | (~never & below)


def log_chance(k: Floats, rate: Floats) -> Floats:
    """The logarithm of the chance of k, by Loader's formula, which loses no digits."""
    some = np.maximum(k, 1)
    v = (some - rate) / (some + rate)
    square = v * v
    series = (some - rate) * v + 2 * some * v * square * (
        1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9)))
    )
    deviance = np.where(np.abs(v) < 0.1, series, some * np.log(some / rate) + rate - some)
    stirling = (np.float32(1 / 12) - np.float32(1 / 360) / (some * some)) / some
    at_some = -deviance - stirling - np.float32(0.5) * np.log(np.float32(2 * np.pi) * some)
    return np.where(k < 1, -rate, at_some).astype(np.float32)


@declare(
    Structured,
    shape=lambda rates, words: rates,
    dtype=lambda rates, words: float32,
    plan=lambda facts: each_drawn(facts, "poisson.wgsl", "rates", "words"),
    promotes=False,
    torch="none",
)
def _poisson(rates, words: Other):
    "Poisson numbers of float32 rates; two words for each rate are the key of its generator."
    flat = np.ascontiguousarray(rates, np.float32).reshape(-1)
    keys, large = keys_of(words), flat >= LARGE
    out = np.zeros(flat.size, np.float32)
    out[~large] = multiplied(flat[~large], keys[~large])
    rates_of = flat[large]
    out[large] = rejected(tried, np.floor(rates_of), keys[large], rates_of)
    return out.reshape(rates.shape)


@composite(method=False)
def poisson(input, generator: Any = None):
    "Poisson numbers of the rates that the input says, the same on all devices up to rounding."
    if not input.is_floating_point():
        raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{input.dtype.short}'")
    rates = input.detach().to(float32)
    require(rates >= 0, "invalid Poisson rate, expected rate to be non-negative")
    words = fresh(input, "_draw_words", (*input.shape, 2), generator)
    return rates._poisson(words).to(input.dtype)
