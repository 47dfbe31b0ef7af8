"""Binomial numbers, drawn by keys.

Of few successes the geometric waits for the next are added up until they exceed the trials; many
are drawn from a curve that lies above the distribution, and rejected where they do not belong
(BTRS: Hormann, The generation of binomial random variates, 1993). shaders/binomial.wgsl computes
the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import float32
from wgtorch.layout import broadcast
from wgtorch.op import Other, Structured, composite, declare
from wgtorch.ops.keyed import Floats, Keys, blocks, each_drawn, keys_of, rejected
from wgtorch.ops.noise import fresh
from wgtorch.ops.poisson import log_chance
from wgtorch.ops.requirements import require

LARGE = 10  # from so many successes on BTRS is used, which needs them


def waited(n: Floats, p: Floats, keys: Keys) -> Floats:
    """How many geometric waits fit into n trials."""
    rate, total = np.maximum(-np.log1p(-p), np.float32(1e-30)), np.zeros_like(n)
    count, going = np.zeros_like(n), np.ones(len(n), bool)
    for open_, four in blocks(keys, going):
        for numbers in four:
            total[open_] += np.floor(-np.log(numbers) / rate[open_]) + 1
            going[open_] &= total[open_] <= n[open_]
            count[open_] += going[open_]
    return count


def tried(n: Floats, p: Floats, q: Floats, u: Floats, v: Floats) -> tuple[Any, Any]:
    """(a number, whether it is accepted)."""
    spread = np.sqrt(n * p * q)
    b = np.float32(1.15) + np.float32(2.53) * spread
    a = np.float32(-0.0873) + np.float32(0.0248) * b + np.float32(0.01) * p
    away = np.float32(0.5) - np.abs(u)
    k = np.floor((2 * a / away + b) * u + n * p + np.float32(0.5))
    inside = (k >= 0) & (k <= n)
    surely = (away >= 0.07) & (v <= np.float32(0.92) - np.float32(4.2) / b)
    height = v * (np.float32(2.83) + np.float32(5.1) / b) * spread / (a / (away * away) + b)
    chance = log_chance_of_successes(np.where(inside, k, 0), n, p, q)
    peak = log_chance_of_successes(np.floor((n + 1) * p), n, p, q)
    return k, inside & (surely | (np.log(height) <= chance - peak))


def log_chance_of_successes(k: Floats, n: Floats, p: Floats, q: Floats) -> Floats:
    """Those of two Poisson numbers, k and n - k, given that their sum is n."""
    return log_chance(k, n * p) + log_chance(n - k, n * q) - log_chance(n, n)


@declare(
    Structured,
    shape=lambda trials, chances, words: trials,
    dtype=lambda trials, chances, words: float32,
    plan=lambda facts: each_drawn(facts, "binomial.wgsl", "trials", "chances", "words"),
    promotes=False,
    torch="none",
)
def _binomial(trials, chances, words: Other):
    "Binomial numbers of float32 trials and chances; two words for each are its generator's key."
    n, p = (np.ascontiguousarray(x, np.float32).reshape(-1) for x in (trials, chances))
    keys, turned = keys_of(words), p > 0.5
    p, q = np.where(turned, 1 - p, p), np.where(turned, p, 1 - p)
    out, large = np.zeros(n.size, np.float32), n * p >= LARGE
    out[~large] = waited(n[~large], p[~large], keys[~large])
    facts = n[large], p[large], q[large]
    out[large] = rejected(tried, np.floor(facts[0] * facts[1]), keys[large], *facts)
    return np.where(turned, n - out, out).reshape(trials.shape)


@composite(method=False)
def binomial(count, prob, generator: Any = None):
    "How many of `count` trials succeed, each with chance `prob`; the same on all devices."
    if not count.is_floating_point():
        raise ValueError(
            f"binomial only supports floating-point dtypes for count, got: {count.dtype.short}"
        )
    if count.dtype is not prob.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype.short} but expected {count.dtype.short}")
    shape = broadcast(count.layout.shape, prob.layout.shape)
    trials, chances = (x.detach().to(float32).expand(shape) for x in (count, prob))
    require(trials >= 0, "invalid number of trials, expected it to be non-negative")
    require((chances >= 0) & (chances <= 1), "binomial: probabilities have to be from 0 to 1")
    words = fresh(count, "_draw_words", (*shape, 2), generator)
    return trials._binomial(chances, words).to(count.dtype)
