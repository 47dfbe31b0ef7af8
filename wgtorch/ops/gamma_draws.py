"""Logarithms of gamma numbers, drawn by keys; small concentrations draw what no float holds.

A number of concentration a >= 1 is d v, v = (1 + z / sqrt(9 d))^3, of d = a - 1/3 and a normal z,
where a uniform number allows it: in more than 95 of 100 tries (Marsaglia and Tsang, A simple method
for generating gamma variables, 2000). For a < 1 it is one of a + 1 times u^(1 / a), u uniform.
shaders/log_gamma.wgsl computes the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from wgtorch.dtype import float32
from wgtorch.op import Other, Structured, composite, declare, elementwise
from wgtorch.ops.keyed import Floats, Keys, block, blocks, each_drawn, keys_of
from wgtorch.ops.noise import fresh
from wgtorch.ops.samples import normal, positive
from wgtorch.ops.special import special

MOST = 16  # tries; fewer do but once in 2^69


def drawn(concentration: Floats, keys: Keys) -> Floats:
    """The logarithm of one number for each concentration."""
    below = concentration < 1
    d = concentration + below - np.float32(1 / 3)
    scale = 1 / np.sqrt(9 * d)
    out, going = np.log(d), np.ones(len(d), bool)
    for open_, (first, second, third, _) in blocks(keys, going, MOST):
        z = np.sqrt(-2 * np.log(first)) * np.cos(np.float32(2 * np.pi) * second)
        root = 1 + z * scale[open_]
        log_v = 3 * np.log(np.maximum(root, np.float32(1e-30)))
        room = z * z / 2 + d[open_] * (1 - root * root * root + log_v)
        fits = (root > 0) & (np.log(third) < room)
        out[open_[fits]] += log_v[fits]
        going[open_[fits]] = False
    if below.any():
        last = block(keys[below], MOST)[0]
        out[below] += np.log(last) / concentration[below]
    return out


@declare(
    Structured,
    shape=lambda concentration, words: concentration,
    dtype=lambda concentration, words: float32,
    plan=lambda facts: each_drawn(facts, "log_gamma.wgsl", "concentration", "words"),
    vjp={"concentration": lambda grad, concentration, result:
         grad * concentration._log_gamma_slope(result)},
    promotes=False,
    torch="none",
)  # fmt: skip
def _draw_log_gamma(concentration, words: Other):
    "Logarithms of gamma numbers of float32 concentrations; two words for each are its key."
    flat = np.ascontiguousarray(concentration, np.float32).reshape(-1)
    return drawn(flat, keys_of(words)).reshape(concentration.shape)


# How a number moves with its concentration

LEAST, MOST_SHARP = 1e-10, 1e10  # concentrations, and the logarithms that they draw
FARTHEST, HIGHEST = 1e12, 60
DEPTH = 40  # e^-40 of the peak is where integrals end


def series(a, log_x):
    """Of the terms x^n / ((a + 1) ... (a + n)) of P(a, x), and their slopes."""
    x = np.exp(log_x)
    term = total = np.ones_like(a)
    falls = slope = np.zeros_like(a)
    for n in range(1, 80):
        term = term * x / (a + n)
        falls = falls + 1 / (a + n)
        total, slope = total + term, slope + term * falls
    return (slope - total * (log_x - special.psi(a + 1))) / a


def beyond_line(s):
    """(e^s - 1 - s) / (s^2 / 2)"""
    near = np.ones_like(s)
    for k in range(14, 2, -1):
        near = 1 + near * s / k
    away = np.where(np.abs(s) < 0.5, 1, s)
    return np.where(np.abs(s) < 0.5, near, (np.expm1(away) - away) / (away * away / 2))


def above_digamma(a, log_x):
    """log x - digamma(a), which cancels for large a."""
    some = np.maximum(a, 8)
    u = 1 / (some * some)
    rest = u * (1 / 12 - u * (1 / 120 - u * (1 / 252 - u * (1 / 240 - u / 132))))
    exact = log_x - np.log(some) + 0.5 / some + rest
    return np.where(a < 8, log_x - special.psi(a), exact)


@cache
def nodes() -> Any:
    "Gauss and Legendre's from -1/2 to 1/2, with their weights."
    return [(x / 2, w / 2) for x, w in zip(*np.polynomial.legendre.leggauss(40), strict=True)]


def integral(a, log_x):
    """Over t = x e^s, on the side of x that is away from the peak, of the density's slope."""
    x = np.exp(log_x)
    side, away = np.where(x >= a, 1, -1), np.abs(x - a)
    end = 2 * DEPTH / (away + np.sqrt(away * away + 2 * x * DEPTH))
    end = np.minimum(end, np.maximum(1.26, np.log1p(2 * DEPTH / x)))
    b = 2 * away - DEPTH
    root = np.sqrt(b * b + 8 * a * DEPTH)
    below = np.where(b > 0, 4 * DEPTH / (np.abs(b) + root), (root - b) / (2 * a))
    end = np.where(side > 0, end, below)
    level, total = above_digamma(a, log_x), 0
    for node, weight in nodes():
        s = end * (node + 0.5)
        fall = away * s + x * s * s / 2 * beyond_line(side * s)
        total = total + weight * np.exp(-fall) * (level + side * s)
    return side * end * total


@elementwise(
    "log_gamma_slope(input, other)",
    samples=lambda rng: [((positive(rng, 4, 5) * 3, normal(rng, 4, 5)), {}),
                         ((positive(rng, 9) * 20 + 10, normal(rng, 9) * 0.3 + 3.5), {})],
    result="float",
    torch="none",
    inplace=False,
    refuses={"complex": "gamma distributions have real numbers"},
)  # fmt: skip
def _log_gamma_slope(input, other):
    """d log x / da of a number x of a gamma distribution, at log x = `other`, a = `input`.

    It is -(dP / da) / (x dP / dx), as P(a, x) stays what it was (Figurnov, Mohamed and Mnih,
    Implicit reparameterization gradients, 2018): by P's series where x is small, else by the
    integral of the density's slope over what is left, neither of which cancels. NaN where either
    is nothing that is drawn.
    """
    a, log_x = np.broadcast_arrays(np.float64(input), np.float64(other))
    known = (a >= LEAST) & (a <= MOST_SHARP) & (log_x >= -FARTHEST) & (log_x <= HIGHEST)
    a, log_x = np.where(known, a, 1.0), np.where(known, log_x, 0.0)
    with np.errstate(all="ignore"):
        few = (log_x < np.log(np.maximum(a, 0.5))) & (a < 10)
        by_series = series(np.where(few, a, 1.0), np.where(few, log_x, 0.0))
        by_integral = integral(np.where(few, 1.0, a), np.where(few, 1.0, log_x))
    result = np.where(few, by_series, by_integral)
    return np.where(known, result, np.nan).astype(np.result_type(input, other))


@composite(method=True)
def _log_standard_gamma(input, generator: Any = None):
    "Logarithms of gamma numbers of rate 1, the same on all devices up to rounding; with gradients."
    words = fresh(input, "_draw_words", (*input.shape, 2), generator)
    return input.to(float32)._draw_log_gamma(words).to(input.dtype)
