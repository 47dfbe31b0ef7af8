"""Functions of angles, and their hyperbolic relatives."""

from __future__ import annotations

from math import pi

import numpy as np

from wgtorch.op import elementwise
from wgtorch.ops.samples import beyond, binary, distant, inside, normal, unary


def angle(wgsl: str, gradient, samples=normal, **facts):
    """A function of one angle, or back to one."""
    facts = {"complex": True, "result": "float"} | facts
    return elementwise(wgsl, vjp={"input": gradient}, samples=unary(samples), **facts)


@angle("sin(input)", lambda grad, input: grad * input.cos())
def sin(input):
    "The sine of an angle in radians"
    return np.sin(input)


@angle("cos(input)", lambda grad, input: -grad * input.sin())
def cos(input):
    "The cosine of an angle in radians"
    return np.cos(input)


@angle("tan(input)", lambda grad, result: grad * (1 + result * result), inside)
def tan(input):
    "The tangent of an angle in radians"
    return np.tan(input)


@angle("asin(input)", lambda grad, input: grad * (1 - input * input).rsqrt(), inside,
       aliases=("arcsin",))  # fmt: skip
def asin(input):
    "The angle in [-pi/2, pi/2] with this sine"
    return np.arcsin(input)


@angle("acos(input)", lambda grad, input: -grad * (1 - input * input).rsqrt(), inside,
       aliases=("arccos",))  # fmt: skip
def acos(input):
    "The angle in [0, pi] with this cosine"
    return np.arccos(input)


@angle("atan(input)", lambda grad, input: grad / (input.square() + 1), aliases=("arctan",))
def atan(input):
    "The angle in (-pi/2, pi/2) with this tangent"
    return np.arctan(input)


def over_square(grad, leg, input, other):
    """grad * leg / (input ** 2 + other ** 2), and 0 at the origin."""
    square = input.square() + other.square()
    return (grad * leg / square).masked_fill(square == 0, 0)


@elementwise(
    "atan2(input, other)",
    vjp={
        "input": lambda grad, input, other: over_square(grad, other, input, other),
        "other": lambda grad, input, other: over_square(-grad, input, input, other),
    },
    samples=binary(distant),
    result="float",
    aliases=("arctan2",),
    tensors=2,
)
def atan2(input, other):
    "The angle of the point (other, input), in [-pi, pi]"
    return np.arctan2(input, other)


@angle("sinh(input)", lambda grad, input: grad * input.cosh())
def sinh(input):
    "The hyperbolic sine"
    return np.sinh(input)


@angle("cosh(input)", lambda grad, input: grad * input.sinh())
def cosh(input):
    "The hyperbolic cosine"
    return np.cosh(input)


@angle("tanh(input)", lambda grad, result: grad * (1 - result * result))
def tanh(input):
    "The hyperbolic tangent"
    return np.tanh(input)


@angle("asinh(input)", lambda grad, input: grad * (input.square() + 1).rsqrt(),
       aliases=("arcsinh",))  # fmt: skip
def asinh(input):
    "The inverse of sinh"
    return np.arcsinh(input)


def slope_of_acosh(grad, input):
    if input.dtype.is_complex:  # the two roots as one would have another cut
        return grad * ((input + 1).rsqrt() * (input - 1).rsqrt())
    return grad * (input.square() - 1).rsqrt()


@angle("acosh(input)", slope_of_acosh, beyond,
       aliases=("arccosh",))  # fmt: skip
def acosh(input):
    "The inverse of cosh, for input >= 1"
    return np.arccosh(input)


@angle("atanh(input)", lambda grad, input: grad / (1 - input * input), inside,
       aliases=("arctanh",))  # fmt: skip
def atanh(input):
    "The inverse of tanh, for input in [-1, 1]"
    return np.arctanh(input)


def slope_of_sinc(grad, input):
    turn = input * pi
    slope = (turn * turn.cos() - turn.sin()) / (turn * input)
    return grad * slope.masked_fill(turn * input == 0, 0)


@angle("sinc(input)", slope_of_sinc, distant)
def sinc(input):
    "sin(pi * input) / (pi * input); 1 at 0"
    if input.dtype.kind == "c":
        turn = np.where(input == 0, 1, input * pi)
        return np.where(input == 0, np.ones_like(input), np.sin(turn) / turn)
    turn = np.fmod(input, 2)
    sine = np.where(turn == np.trunc(turn), turn * 0, np.sin(turn * pi))
    return np.where(input == 0, np.ones_like(input), sine / (input * pi))


@angle("input * 0.017453292519943295", lambda grad: grad * (pi / 180), complex=False)
def deg2rad(input):
    "Degrees as radians"
    return input * (pi / 180)


@angle("input * 57.29577951308232", lambda grad: grad * (180 / pi), complex=False)
def rad2deg(input):
    "Radians as degrees"
    return input * (180 / pi)
