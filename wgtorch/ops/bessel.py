"""Bessel functions and Airy's: what oscillates, and what grows and falls like exponentials."""

from __future__ import annotations

from math import pi

import numpy as np

from wgtorch.op import elementwise
from wgtorch.ops.samples import normal, positive, unary
from wgtorch.ops.special import special, tabulated

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


@tabulated("k0(input)", lambda grad, input: -grad * input._modified_bessel_k1(), positive,
           torch="special.modified_bessel_k0", inplace=False)  # fmt: skip
def _modified_bessel_k0(input):
    "The modified Bessel function of the second kind, of order 0; infinite at 0, NaN below"
    return special.k0(input)


@tabulated("k1(input)",
           lambda grad, input, result: -grad * (input._modified_bessel_k0() + result / input),
           positive, torch="special.modified_bessel_k1", inplace=False)  # fmt: skip
def _modified_bessel_k1(input):
    "The modified Bessel function of the second kind, of order 1; infinite at 0, NaN below"
    return special.k1(input)


@tabulated("k0e(input)",
           lambda grad, input, result: grad * (result - input._scaled_modified_bessel_k1()),
           positive, torch="special.scaled_modified_bessel_k0", inplace=False)  # fmt: skip
def _scaled_modified_bessel_k0(input):
    "exp(input) * modified_bessel_k0(input)"
    return special.k0e(input)


@tabulated("k1e(input)",
           lambda grad, input, result: grad
           * (result - input._scaled_modified_bessel_k0() - result / input),
           positive, torch="special.scaled_modified_bessel_k1", inplace=False)  # fmt: skip
def _scaled_modified_bessel_k1(input):
    "exp(input) * modified_bessel_k1(input)"
    return special.k1e(input)


# Those that oscillate. Where float64 has lost the phase, scipy forgets it before numpy's sine does


def far_out(input, near, cosine: float, sine: float):
    """The leading term of the asymptotic series for |x| > 1e8, else what scipy says."""
    x = np.asarray(input, np.float64)
    far = (np.abs(x) > 1e8) & np.isfinite(x)
    a = np.abs(np.where(far, x, 1))
    wave = (cosine * np.cos(a) + sine * np.sin(a)) / np.sqrt(pi * a)
    return np.where(far, wave, near(np.where(far, 1, x)))


@tabulated("bessel_j0(input)", lambda grad, input: -grad * input._bessel_j1(),
           torch="special.bessel_j0", inplace=False)  # fmt: skip
def _bessel_j0(input):
    "The Bessel function of the first kind, of order 0"
    return far_out(input, special.j0, 1, 1).astype(input.dtype)


def slope_of_j1(grad, input, result):
    """j0(x) - j1(x) / x; 1/2 at 0."""
    zero = input == 0
    return grad * (input._bessel_j0() - result / input.masked_fill(zero, 1)).masked_fill(zero, 0.5)


@tabulated("bessel_j1(input)", slope_of_j1, torch="special.bessel_j1", inplace=False)
def _bessel_j1(input):
    "The Bessel function of the first kind, of order 1"
    far = far_out(input, special.j1, -1, 1)
    far = np.where(np.abs(input) > 1e8, far * np.sign(input), far)
    return np.where(input == 0, input, far).astype(input.dtype)


@tabulated("bessel_y0(input)", lambda grad, input: -grad * input._bessel_y1(), positive,
           torch="special.bessel_y0", inplace=False)  # fmt: skip
def _bessel_y0(input):
    "The Bessel function of the second kind, of order 0; minus infinity at 0, NaN below"
    value = far_out(input, special.y0, -1, 1)
    return np.where(input < 0, np.nan, value).astype(input.dtype)


@tabulated("bessel_y1(input)",
           lambda grad, input, result: grad * (input._bessel_y0() - result / input), positive,
           torch="special.bessel_y1", inplace=False)  # fmt: skip
def _bessel_y1(input):
    "The Bessel function of the second kind, of order 1; minus infinity at 0, NaN below"
    value = far_out(input, special.y1, -1, -1)
    return np.where(input < 0, np.nan, value).astype(input.dtype)


def slope_of_spherical_j0(grad, input, result):
    """(cos(x) - result) / x; 0 at 0."""
    zero = input == 0
    return grad * ((input.cos() - result) / input.masked_fill(zero, 1)).masked_fill(zero, 0)


@tabulated("spherical_bessel_j0(input)", slope_of_spherical_j0,
           torch="special.spherical_bessel_j0", inplace=False)  # fmt: skip
def _spherical_bessel_j0(input):
    "sin(input) / input; 1 at 0"
    safe = np.where((input == 0) | np.isinf(input), 1, input)
    ends = np.where(np.isinf(input), 0, np.sin(safe) / safe)
    return np.where(input == 0, 1, ends).astype(input.dtype)


@elementwise("airy_ai(input)", samples=unary(normal), result="float",
             torch="special.airy_ai", inplace=False)  # fmt: skip
def _airy_ai(input):
    "The Airy function Ai; NaN below -2 ** 20, where no digit is left"
    lost = ~np.isfinite(input) | (input < -(2.0**20))
    value = special.airy(np.where(lost | (input > 104), 0, input))[0]
    return np.where(lost, np.nan, np.where(input > 104, 0, value)).astype(input.dtype)
