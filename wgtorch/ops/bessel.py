"""Modified Bessel functions, and the normal distribution: more of what is tabulated in books."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from wgtorch.op import elementwise
from wgtorch.ops.samples import inside, positive
from wgtorch.ops.special import special, tabulated
from wgtorch.storage import View

# Modified Bessel functions


@tabulated("i0(input)", lambda grad, input: grad * input._i1())
def i0(input):
    "The modified Bessel function of the first kind, of order 0"
    return np.where(np.isinf(input), np.inf, special.i0(input)).astype(input.dtype)


@tabulated("i0e(input)", lambda grad, input, result: grad * (input._i1e() - input.sgn() * result),
           method=True, torch="special.i0e", inplace=False)  # fmt: skip
def _i0e(input):
    "exp(-|input|) * i0(input)"
    return special.i0e(input)


def slope_of_i1(grad, input, result):
    """i0(x) - i1(x) / x; 1/2 at 0."""
    zero = input == 0
    return grad * (input.i0() - result / input.masked_fill(zero, 1)).masked_fill(zero, 0.5)


@tabulated("i1(input)", slope_of_i1, torch="special.i1", inplace=False)
def _i1(input):
    "The modified Bessel function of the first kind, of order 1"
    return np.where(np.isinf(input), input, np.copysign(special.i1(input), input))


def slope_of_i1e(grad, input, result):
    zero = input == 0
    safe = input.masked_fill(zero, 1)
    return grad * (input._i0e() - result * (input.sgn() + 1 / safe)).masked_fill(zero, 0.5)


@tabulated("i1e(input)", slope_of_i1e, torch="special.i1e", inplace=False)
def _i1e(input):
    "exp(-|input|) * i1(input)"
    return np.copysign(special.i1e(input), input)


# The normal distribution


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
