"""The normal distribution: its area, the quantiles, and functions beside them."""

from __future__ import annotations

from math import pi, sqrt

from wgtorch.ops.samples import inside, positive
from wgtorch.ops.special import special, tabulated


def density(input):
    """exp(-input ** 2 / 2) / sqrt(2 pi)"""
    return (input * input * -0.5).exp() * (1 / sqrt(2 * pi))


@tabulated("ndtr(input)", lambda grad, input: grad * density(input),
           torch="special.ndtr", inplace=False)  # fmt: skip
def _ndtr(input):
    "The area under the standard normal density up to input"
    return special.ndtr(input)


@tabulated("log_ndtr(input)",
           lambda grad, input, result: grad * (input * input * -0.5 - result).exp()
           * (1 / sqrt(2 * pi)),
           torch="special.log_ndtr", inplace=False)  # fmt: skip
def _log_ndtr(input):
    "The logarithm of ndtr, exact far below 0 too"
    return special.log_ndtr(input)


@tabulated("ndtri(input)",
           lambda grad, result: grad * (result * result * 0.5).exp() * sqrt(2 * pi),
           lambda rng, *shape: (inside(rng, *shape) + 1) / 2,
           torch="special.ndtri", inplace=False)  # fmt: skip
def _ndtri(input):
    "The inverse of ndtr, for input in [0, 1]"
    return special.ndtri(input)


@tabulated("erfcx(input)",
           lambda grad, input, result: grad * (2 * input * result - 2 / sqrt(pi)),
           torch="special.erfcx", inplace=False)  # fmt: skip
def _erfcx(input):
    "exp(input ** 2) * erfc(input)"
    return special.erfcx(input)


@tabulated("entr(input)",
           lambda grad, input: grad * (-input.log() - 1).masked_fill(input < 0, float("nan")),
           positive, torch="special.entr", inplace=False)  # fmt: skip
def _entr(input):
    "-input * log(input); 0 at 0, minus infinity below"
    return special.entr(input)
