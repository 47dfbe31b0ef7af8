"""Questions that a bool answers: which is larger, what is a number, how close are two."""

from __future__ import annotations

import numpy as np

from wgtorch.dtype import get_default_dtype
from wgtorch.op import composite, elementwise
from wgtorch.ops.arguments import required
from wgtorch.ops.samples import apart, binary, integers, normal, unary

# Which is larger. NaN is not equal to anything and neither above nor below.


def compared(sign: str, name: str, **facts):
    """`a < b` and its like, under its short and its long name."""
    return elementwise(
        f"{sign}(input, other)",
        samples=binary(integers),
        result="bool",
        operator=sign,
        tensors=1,
        aliases=(name,),
        **facts,
    )


@compared("eq", "equals", complex=True)
def eq(input, other):
    "input == other"
    return np.equal(input, other)


@compared("ne", "not_equal", complex=True)
def ne(input, other):
    "input != other"
    return np.not_equal(input, other)


@compared("lt", "less")
def lt(input, other):
    "input < other"
    return np.less(input, other)


@compared("le", "less_equal")
def le(input, other):
    "input <= other"
    return np.less_equal(input, other)


@compared("gt", "greater")
def gt(input, other):
    "input > other"
    return np.greater(input, other)


@compared("ge", "greater_equal")
def ge(input, other):
    "input >= other"
    return np.greater_equal(input, other)


# What is a number


def tested(wgsl: str, of_integers: bool = False, **facts):
    """A test of single elements; all integers answer the same."""
    answer = {"float": wgsl, "int": str(of_integers).lower()}
    return elementwise(answer, samples=unary(), result="bool", inplace=False, **facts)


@tested("is_nan(input)", complex=True)
def isnan(input):
    "Whether it is not a number"
    return np.isnan(input)


@tested("is_inf(input)", complex=True)
def isinf(input):
    "Whether it is infinite"
    return np.isinf(input)


@tested("is_finite(input)", True, complex=True)
def isfinite(input):
    "Whether it is neither infinite nor NaN"
    return np.isfinite(input)


@tested("is_posinf(input)")
def isposinf(input):
    "Whether it is infinity"
    return np.isposinf(input) if input.dtype.kind == "f" else np.zeros(input.shape, bool)


@tested("is_neginf(input)")
def isneginf(input):
    "Whether it is minus infinity"
    return np.isneginf(input) if input.dtype.kind == "f" else np.zeros(input.shape, bool)


# How close


@composite(samples=lambda rng: [((apart(rng, 3, 5), apart(rng, 3, 5)), {"rtol": 0.5, "atol": 0.1}),
                                ((normal(rng, 4),) * 2, {})])  # fmt: skip
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    "Whether |input - other| <= atol + rtol * |other|; infinities are close to themselves only"
    required("isclose", input=input, other=other)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.short} did not match {other.dtype.short}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    close = input == other
    if equal_nan and input.dtype.category > 1:
        close = close | input.isnan() & other.isnan()
    if rtol == 0 and atol == 0:
        return close
    if input.dtype.category < 2:
        input, other = input.to(get_default_dtype()), other.to(get_default_dtype())
    error = (input - other).abs()
    return close | error.isfinite() & (error <= (rtol * other).abs() + atol)


@composite(samples=lambda rng: [((apart(rng, 3, 5), apart(rng, 3, 5)), {"rtol": 0.5}),
                                ((normal(rng, 4),) * 2, {})])  # fmt: skip
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    "Whether all elements are close, see isclose; a Python bool"
    return bool(input.isclose(other, rtol, atol, equal_nan).all())


@composite(samples=lambda rng: [((integers(rng, 5), integers(rng, 5)), {}),
                                ((normal(rng, 4),) * 2, {})])  # fmt: skip
def equal(input, other):
    "Whether shapes and all elements are equal; a Python bool"
    required("equal", input=input, other=other)
    return input.shape == other.shape and bool((input == other).all())
