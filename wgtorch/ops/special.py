"""Special functions: those whose values are tabulated in books. The cpu asks scipy."""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np

from wgtorch.dtype import bool_, get_default_dtype
from wgtorch.lazy import Lazy
from wgtorch.op import composite, elementwise
from wgtorch.ops.samples import inside, normal, options, positive, unary

special = Lazy("scipy.special")


def tabulated(wgsl: str, gradient, samples=normal, **facts):
    return elementwise(
        wgsl, vjp={"input": gradient}, samples=unary(samples), result="float", **facts
    )


def bell(input):
    """2 / sqrt(pi) * exp(-input ** 2), the slope of erf."""
    return (-input * input).exp() * (2 / sqrt(pi))


@tabulated("erf(input)", lambda grad, input: grad * bell(input))
def erf(input):
    "The error function"
    return special.erf(input)


@tabulated("erfc(input)", lambda grad, input: -grad * bell(input))
def erfc(input):
    "1 - erf(input), exact for large input too"
    return special.erfc(input)


@tabulated(
    "erfinv(input)",
    lambda grad, result: grad * (result * result).exp() * (sqrt(pi) / 2),
    inside,
)
def erfinv(input):
    "The inverse of erf, for input in [-1, 1]"
    return np.copysign(special.erfinv(input), input)


@tabulated("lgamma(input)", lambda grad, input: grad * input.digamma(), positive)
def lgamma(input):
    "The logarithm of the absolute value of the gamma function"
    return np.where(input == -np.inf, np.inf, special.gammaln(input)).astype(input.dtype)


@tabulated("digamma(input)", lambda grad, input: grad * input._polygamma(1), positive)
def digamma(input):
    "The derivative of lgamma; infinite at 0, NaN at the negative integers"
    return special.psi(input)


@elementwise(
    "polygamma(n, input)",
    vjp={"input": lambda grad, input, n: grad * input._polygamma(n + 1)},
    samples=options(positive, {"n": 1}, {"n": 2}),
    result="float",
    torch="-",
    inplace=False,
)
def _polygamma(input, n: float):
    "The derivative of order n of digamma"
    slope = special.polygamma(int(n), input).astype(input.dtype, copy=False)
    return np.where(input == np.inf, slope * (np.nan if n > 1 else 0), slope)


@composite(
    samples=lambda rng: [((2, positive(rng, 3, 5)), {}), ((0, positive(rng, 4)), {})],
    method=lambda face: lambda self, n: face(n, self),
    inplace=True,
)
def polygamma(n: int, input):
    "The derivative of order n of digamma"
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return input._polygamma(n) if n else input.digamma()


@composite(
    samples=lambda rng: [((positive(rng, 3, 5) + 1, 3), {}), ((positive(rng, 4), 1), {})],
    inplace=True,
)
def mvlgamma(input, p: int):
    "The logarithm of the gamma function of p dimensions"
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input.dtype is bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if not input.is_floating_point():
        input = input.to(get_default_dtype())
    halves = input.new_full((p,), 0.5).cumsum(0) - 0.5
    return (input.unsqueeze(-1) - halves).lgamma().sum(-1) + p * (p - 1) / 4 * log(pi)


def unclipped(door):
    """`logit` of input cut to [eps, 1 - eps] where an eps is given."""

    def call(input, eps=None):
        if eps is None or eps != eps:
            return door(input)
        if eps <= 0.5:
            return door(input.clamp(eps, 1 - eps))
        return door(input.clamp(max=1 - eps).where(~(input < eps), eps))  # from below goes first

    return call


def slope_of_logit(grad, input):
    outside = (input < 0) | (input > 1)
    return (grad / (input * (1 - input))).masked_fill(outside, float("nan"))


@tabulated(
    "logit(input)",
    slope_of_logit,
    lambda rng, *shape: (inside(rng, *shape) + 1) / 2,
    front=unclipped,
)
def logit(input):
    "log(input / (1 - input)), the inverse of sigmoid"
    return special.logit(input)
