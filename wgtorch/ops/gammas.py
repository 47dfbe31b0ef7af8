"""Functions beside gamma: the incomplete ones, and Hurwitz's zeta."""

from __future__ import annotations

import numpy as np

from wgtorch.op import elementwise
from wgtorch.ops.samples import positive
from wgtorch.ops.special import special
from wgtorch.storage import View


def weight(input, other):
    """exp(-x) x ** (a - 1) / gamma(a), the slope of igamma"""
    gamma = input.lgamma() if isinstance(input, View) else other.new_full((), input).lgamma()
    return ((input - 1) * other.log() - other - gamma).exp()


@elementwise(
    "igamma(input, other)",
    vjp={"other": lambda grad, input, other: grad * weight(input, other)},
    samples=lambda rng: [((2.5, positive(rng, 3, 5)), {}), ((0.5, positive(rng, 3, 5)), {})],
    result="float",
)
def igamma(input, other):
    """The share of gamma(input) that its integral has up to other: from 0 to 1.

    NaN where either is negative, or both are 0 or infinite. Formulas: DLMF, chapter 8. The
    derivative by input is not known.
    """
    return special.gammainc(input, other)


@elementwise(
    "igammac(input, other)",
    vjp={"other": lambda grad, input, other: -grad * weight(input, other)},
    samples=lambda rng: [((2.5, positive(rng, 3, 5)), {}), ((0.5, positive(rng, 3, 5)), {})],
    result="float",
)
def igammac(input, other):
    "1 - igamma(input, other), exact where that is near 1 too"
    return special.gammaincc(input, other)


def slope_of_zeta(grad, input, other):
    above = input + 1 if isinstance(input, View) else other.new_full((), input + 1)
    return grad * -input * above._zeta(other)


@elementwise(
    "zeta(input, other)",
    vjp={"other": lambda grad, input, other: slope_of_zeta(grad, input, other)},
    samples=lambda rng: [((2.5, positive(rng, 3, 5)), {})],
    result="float",
    torch="special.zeta",
    inplace=False,
)
def _zeta(input, other):
    "The Hurwitz zeta function: the sum over k >= 0 of 1 / (k + other) ** input"
    ends = np.isinf(input) | (other == np.inf)
    return np.where(ends, np.nan, special.zeta(input, other)).astype(other.dtype)
