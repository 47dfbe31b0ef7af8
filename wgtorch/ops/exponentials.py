"""Powers, exponentials and logarithms, and what is made of them."""

from __future__ import annotations

from cmath import log as log_of
from math import log as ln

import numpy as np

from wgtorch.dtype import HALVES, complex128, fitting, float64
from wgtorch.op import composite, elementwise
from wgtorch.ops.arguments import category, floats_only, no_numbers, unsupported
from wgtorch.ops.branches import choose
from wgtorch.ops.samples import binary, distant, inside, normal, positive, unary
from wgtorch.storage import View

LN2, LN10 = ln(2), ln(10)


# Powers


def shorter_ways(door):
    """Exponents that are cheaper said otherwise, and those that integers do not have."""

    def call(input, exponent):
        kind = exponent.__class__
        if (kind is int or kind is float) and isinstance(input, View):
            if exponent == 2 and (kind is int or category(input) >= 2):
                return input.square()
            if exponent == 0.5:
                return input.sqrt()
            if exponent == -0.5 and category(input) == 2 and input.dtype not in HALVES:
                return input.rsqrt()
            if exponent < 0 and kind is int and category(input) < 2:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            if exponent == -1:
                return input.reciprocal()
            if exponent > 127 or exponent < -127:
                check_exponent(exponent, kind, input.dtype)
        elif kind is bool and category(input) == 0:
            return input if exponent else input | True
        return door(input, exponent)

    return call


def check_exponent(exponent, kind, dtype):
    """It must be a number of the base's dtype, unless it lifts that to floats of 32 bits."""
    if dtype in HALVES or (kind is int and dtype.category == 1):
        fitting(exponent, dtype)


@elementwise(
    "pow(input, exponent)",
    vjp={
        "input": lambda grad, input, exponent: power_of_base(grad, input, exponent),
        "exponent": lambda grad, input, exponent, result: power_of_exponent(
            grad, input, exponent, result
        ),
    },
    samples=binary(positive, normal),
    refuses=unsupported("pow", "bool"),
    gate=shorter_ways,
    operator="pow",
    complex=True,
)
def pow_(input, exponent):
    "input to the power exponent"
    if input.dtype.kind in "fc":
        if np.ndim(exponent) == 0 and exponent == 3:  # numpy is thirty times slower at it
            return input * input * input
        return np.power(input, exponent)
    raised = np.power(input, np.maximum(exponent, 0))
    odd = np.where(exponent & 1, input, input * input)
    inverse = np.where((input == 1) | (input == -1), odd, np.zeros_like(input))
    return np.where(exponent < 0, inverse, raised).astype(input.dtype)


def power_of_base(grad, input, exponent):
    if isinstance(exponent, View):
        slope = exponent * input ** (exponent - 1)
        return grad * slope.masked_fill(exponent == 0, 0)
    return grad * (exponent * input ** (exponent - 1)) if exponent else grad.new_zeros(grad.shape)


def power_of_exponent(grad, input, exponent, result):
    if isinstance(input, View):
        rises = exponent.real if exponent.dtype.is_complex else exponent
        at_zero = (input == 0) & (rises >= 0)
        return grad * (result * input.log()).masked_fill(at_zero, 0)
    if isinstance(input, complex):
        return grad * (result * log_of(input))
    if input == 0:
        return grad * (result * -float("inf")).masked_fill(exponent >= 0, 0)
    return grad * (result * (ln(input) if input > 0 else float("nan")))


@composite(samples=binary(positive, normal), inplace=True)
def float_power(input, exponent):
    "input to the power exponent, in float64 or complex128"
    if not isinstance(exponent, View):
        no_numbers("float_power", 1, input=input, exponent=exponent)
    of_complex = any(category(x) == 3 for x in (input, exponent))
    wide, kind = (complex128, complex) if of_complex else (float64, float)
    input = input.to(wide) if isinstance(input, View) else kind(input)
    return input ** (exponent.to(wide) if isinstance(exponent, View) else kind(exponent))


@elementwise(
    "sqrt(input)",
    vjp={"input": lambda grad, result: grad / (2 * result)},
    samples=unary(positive),
    result="float",
    complex=True,
)
def sqrt(input):
    "The square root; NaN of negative numbers"
    return np.sqrt(input)


@elementwise(
    "rsqrt(input)",
    vjp={"input": lambda grad, result: -0.5 * grad * (result * result * result)},
    samples=unary(positive),
    result="float",
    complex=True,
)
def rsqrt(input):
    "1 / sqrt(input)"
    return np.reciprocal(np.sqrt(input))


# Exponentials


@elementwise(
    "exp(input)",
    vjp={"input": lambda grad, result: grad * result},
    samples=unary(),
    result="float",
    complex=True,
)
def exp(input):
    "e to the power input"
    return np.exp(input)


@elementwise(
    "exp2(input)",
    vjp={"input": lambda grad, result: grad * result * LN2},
    samples=unary(),
    result="float",
    complex=True,
)
def exp2(input):
    "2 to the power input"
    return np.exp2(input)


@elementwise(
    "expm1(input)",
    vjp={"input": lambda grad, result: grad * (result + 1)},
    samples=unary(),
    result="float",
    complex=True,
)
def expm1(input):
    "exp(input) - 1, exact near 0 too"
    return np.expm1(input)


# Logarithms


@elementwise(
    "log(input)",
    vjp={"input": lambda grad, input: grad / input},
    samples=unary(positive),
    result="float",
    complex=True,
)
def log(input):
    "The natural logarithm"
    return np.log(input)


@elementwise(
    "log2(input)",
    vjp={"input": lambda grad, input: grad / (input * LN2)},
    samples=unary(positive),
    result="float",
    complex=True,
)
def log2(input):
    "The logarithm to base 2"
    return np.log2(input)


@elementwise(
    "log10(input)",
    vjp={"input": lambda grad, input: grad / (input * LN10)},
    samples=unary(positive),
    result="float",
    complex=True,
)
def log10(input):
    "The logarithm to base 10"
    return np.log10(input)


@elementwise(
    "log1p(input)",
    vjp={"input": lambda grad, input: grad / (input + 1)},
    samples=unary(inside),
    result="float",
    complex=True,
)
def log1p(input):
    "log(1 + input), exact near 0 too"
    return np.log1p(input)


def from_the_larger(door):
    """Of complex numbers: the one with the larger real part, and what the other adds to it."""

    def call(input, other):
        if max(category(input), category(other)) < 3:
            return door(input, other)
        below = input.real < other.real
        more, less = other.where(below, input), input.where(below, other)
        return more + (less - more).exp().log1p()

    return call


@elementwise(
    "logaddexp(input, other)",
    vjp={
        "input": lambda grad, input, other: grad * (input - other).sigmoid(),
        "other": lambda grad, input, other: grad * (other - input).sigmoid(),
    },
    samples=binary(),
    gate=from_the_larger,
    refuses=floats_only("logaddexp_cpu"),
    inplace=False,
    tensors=2,
)
def logaddexp(input, other):
    "log(exp(input) + exp(other)), without overflow on the way"
    return np.logaddexp(input, other)


@elementwise(
    "logaddexp2(input, other)",
    vjp={
        "input": lambda grad, input, other: grad * ((input - other) * LN2).sigmoid(),
        "other": lambda grad, input, other: grad * ((other - input) * LN2).sigmoid(),
    },
    samples=binary(),
    refuses=floats_only("logaddexp2_cpu"),
    inplace=False,
    tensors=2,
)
def logaddexp2(input, other):
    "log2(2 ** input + 2 ** other), without overflow on the way"
    return np.logaddexp2(input, other)


@elementwise(
    "xlogy(input, other)",
    vjp={
        "input": lambda grad, input, other: (
            grad * logarithm(other).masked_fill((input == 0) & (other <= 0), 0)
        ),
        "other": lambda grad, input, other: grad * (input / other),
    },
    samples=binary(distant, positive),
    result="float",
)
def xlogy(input, other):
    "input * log(other); 0 where input is 0 and other is a number"
    product = input * np.log(other)
    return choose((input == 0) & ~np.isnan(other), product.dtype.type(0), product)


def logarithm(number):
    return number.log() if isinstance(number, View) else ln(number)


@elementwise(
    "xlog1py(input, other)",
    vjp={
        "input": lambda grad, input, other: (
            grad * (other + 1).log().masked_fill((input == 0) & (other <= -1), 0)
        ),
        "other": lambda grad, input, other: grad * (input / (other + 1)),
    },
    samples=binary(distant, inside),
    result="float",
    torch="special.xlog1py",
    inplace=False,
)
def xlog1py(input, other):
    "input * log1p(other); 0 where input is 0 and other is a number"
    product = input * np.log1p(other)
    return choose((input == 0) & ~np.isnan(other), product.dtype.type(0), product)
