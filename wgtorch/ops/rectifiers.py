"""Rectifiers: activations made of straight pieces, and their relatives."""

from __future__ import annotations

import numpy as np

from wgtorch.op import composite, elementwise
from wgtorch.ops.arguments import (
    as_element,
    category,
    floats_only,
    nothing_for_other,
    unsupported,
)
from wgtorch.ops.bare import clip
from wgtorch.ops.branches import choose
from wgtorch.ops.samples import apart, normal, options, unary
from wgtorch.ops.softmax import is_recorded

F = "nn.functional."


def kinked(grad, input):
    """`grad`, a gradient that the input decides only piece by piece: one of zeros goes back."""
    return input._level(grad) if is_recorded(input) else grad


# Rectifiers


@elementwise(
    "relu(input)",
    vjp={"input": lambda grad, result: grad._where_positive(result)},
    samples=unary(apart),
    refuses={"bool": "Boolean inputs not supported for relu"},
)
def relu(input):
    "max(input, 0); the gradient at 0 is 0"
    if input.dtype.kind == "f":
        return clip(input, 0, np.inf)
    return np.maximum(input, 0)


@elementwise(
    "select(input, 0, le(other, 0))",
    vjp={
        "input": lambda grad, other: grad._where_positive(other),
        "other": nothing_for_other,
    },
    samples=lambda rng: [((normal(rng, 3, 5), apart(rng, 3, 5)), {})],
    inplace=False,
    torch="-",
)
def _where_positive(input, other):
    "input where other is positive or NaN, else 0: the gradient of relu"
    return choose(other <= 0, input.dtype.type(0), input)


@elementwise(
    "select(input * negative_slope, input, gt(input, 0))",
    vjp={
        "input": lambda grad, input, negative_slope: kinked(
            grad.where(input > 0, grad * negative_slope), input
        )
    },
    samples=options(apart, {}, {"negative_slope": 0.3}),
    refuses=floats_only("leaky_relu_cpu"),
    torch=F + "leaky_relu",
)
def leaky_relu(input, negative_slope: float = 0.01):
    "input where positive, else negative_slope * input"
    return np.maximum(0, input) + np.minimum(0, input) * negative_slope


def slope_of_elu(grad, input, alpha, scale, input_scale):
    x = input.where(input < 0, 0)  # its exponential and all its slopes stay finite
    below = (x * input_scale).exp() * (alpha * scale * input_scale)
    return grad * below.where(input <= 0, scale)


@elementwise(
    "select(input * scale, expm1(input * input_scale) * (alpha * scale), le(input, 0))",
    vjp={"input": slope_of_elu},
    samples=options(apart, {}, {"alpha": 0.5}),
    refuses=floats_only("elu_cpu"),
    torch=F + "elu",
)
def elu(input, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0):
    "input where positive, else alpha * (exp(input) - 1); all times scale"
    below = np.expm1(np.minimum(0, input) * input_scale)
    return np.maximum(0, input) * scale + below * (alpha * scale)


@composite(samples=unary(apart), inplace=True)
def selu(input):
    "elu with the alpha and scale that keep mean 0 and variance 1 (Klambauer et al. 2017)"
    return input.elu(1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@composite(samples=options(apart, {}, {"alpha": 0.5}), inplace=True)
def celu(input, alpha: float = 1.0):
    "input where positive, else alpha * (exp(input / alpha) - 1)"
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return input.elu(alpha, 1.0, 1.0 / alpha)


@elementwise(
    "select(input * weight, input, gt(input, 0))",
    vjp={
        "input": lambda grad, input, weight: kinked(grad.where(input > 0, grad * weight), input),
        "weight": lambda grad, input: (grad * input).masked_fill(input > 0, 0),
    },
    samples=lambda rng: [((apart(rng, 3, 5), apart(rng, 5)), {})],
    refuses=floats_only("prelu_cpu"),
    inplace=False,
)
def _prelu_kernel(input, weight):
    "input where positive, else weight * input; weight broadcasts"
    return choose(input > 0, input, input * weight)


@composite(
    samples=lambda rng: [
        ((apart(rng, 2, 3, 4), normal(rng, 3)), {}),
        ((apart(rng, 5), normal(rng, 1)), {}),
    ]
)
def prelu(input, weight):
    "input where positive, else weight * input, with one weight or one per channel (dimension 1)"
    if weight.numel() != 1:
        if not input.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers ="
                f" {weight.numel()} and channel size = {channels}."
            )
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.short} and {weight.dtype.short}"
        )
    after = [1] * max(input.ndim - 2, 0)
    return input._prelu_kernel(weight.reshape((-1, *after) if weight.numel() != 1 else ()))


# Rectifiers that are cut off


def checked_bounds(door):
    def call(input, min_val=-1.0, max_val=1.0):
        if min_val > max_val:
            raise ValueError("min_val cannot be greater than max_val")
        dtype = input.dtype
        if dtype.is_complex:
            raise NotImplementedError("clamp is not supported for complex types")
        if dtype.kind == "u" and min_val < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        return door(input, as_element(min_val, dtype), as_element(max_val, dtype))

    return call


@elementwise(
    "clamp(input, min_val, max_val)",
    vjp={
        "input": lambda grad, input, min_val, max_val: kinked(
            grad.masked_fill((input <= min_val) | (input >= max_val), 0), input
        )
    },
    samples=options(apart, {}, {"min_val": -0.5, "max_val": 1.5}),
    refuses={"bool": "Bool inputs not supported for hardtanh"},
    gate=checked_bounds,
    torch=F + "hardtanh",
)
def hardtanh(input, min_val: float = -1.0, max_val: float = 1.0):
    "input, but min_val where below and max_val where above"
    return clip(input, min_val, max_val).astype(input.dtype, copy=False)


@composite(samples=unary(lambda rng, *shape: 3 * apart(rng, *shape)), inplace=True,
           torch=F + "relu6")  # fmt: skip
def relu6(input):
    "min(max(input, 0), 6)"
    return input.hardtanh(0.0, 6.0)


@elementwise(
    "div(clamp(input + 3, 0, 6), 6)",
    vjp={
        "input": lambda grad, input: kinked((grad / 6).where((input > -3) & (input < 3), 0), input)
    },
    samples=unary(lambda rng, *shape: 2 * apart(rng, *shape)),
    refuses=floats_only("hardsigmoid_cpu"),
    torch=F + "hardsigmoid",
)
def hardsigmoid(input):
    "relu6(input + 3) / 6"
    return np.minimum(np.maximum(input + 3, 0), 6) / 6


def slope_of_hardswish(grad, input):
    slope = (input / 3 + 0.5).where(input < 3, 1)
    return grad * slope.masked_fill(input <= -3, 0)


@elementwise(
    "div(input * clamp(input + 3, 0, 6), 6)",
    vjp={"input": slope_of_hardswish},
    samples=unary(lambda rng, *shape: 2 * apart(rng, *shape)),
    refuses=floats_only("hardswish_cpu"),
    torch=F + "hardswish",
)
def hardswish(input):
    "input * relu6(input + 3) / 6"
    return input * np.minimum(np.maximum(input + 3, 0), 6) / 6


def whole_threshold(door):
    def call(input, threshold, value):
        if input.dtype.is_complex:
            raise NotImplementedError(
                f"\"threshold_cpu\" not implemented for '{input.dtype.short}'"
            )
        return door(input, as_element(threshold, input.dtype), as_element(value, input.dtype))

    return call


@elementwise(
    "select(input, value, le(input, threshold))",
    vjp={
        "input": lambda grad, input, threshold: kinked(
            grad.masked_fill(input <= threshold, 0), input
        )
    },
    samples=options(apart, {"threshold": 0.3, "value": -2.0}),
    refuses=unsupported("threshold_cpu", "bool"),
    gate=whole_threshold,
    torch=F + "threshold",
)
def threshold(input, threshold: float, value: float):
    "input where it is above threshold, else value"
    return choose(input <= threshold, input.dtype.type(value), input)


# Shrinkage


def of_shrinkage(grad, input, lambd):
    return kinked(grad.masked_fill((input >= -lambd) & (input <= lambd), 0), input)


@elementwise(
    "select(input, 0.0, ge(input, -lambd) & le(input, lambd))",
    vjp={"input": of_shrinkage},
    samples=options(apart, {}, {"lambd": 1.0}),
    refuses=floats_only("hardshrink_cpu"),
    torch=F + "hardshrink",
    inplace=False,
)
def hardshrink(input, lambd: float = 0.5):
    "0 where input is in [-lambd, lambd], else input"
    return choose((input >= -lambd) & (input <= lambd), input.dtype.type(0), input)


def checked_lambda(door):
    def call(input, lambd=0.5):
        if not lambd >= 0:
            raise RuntimeError(
                f"lambda must be in range [0, 3.40282e+38] for input dtype {input.dtype.short}, but"
                f" found {lambd:g}"
            )
        return door(input, lambd)

    return call


@elementwise(
    "select(select(select(input, 0.0, le(abs(input), lambd)), input + lambd, lt(input, -lambd)),"
    " input - lambd, gt(input, lambd))",
    vjp={"input": of_shrinkage},
    samples=options(apart, {}, {"lambd": 1.0}),
    refuses=floats_only("softshrink_check"),
    gate=checked_lambda,
    torch=F + "softshrink",
    inplace=False,
)
def softshrink(input, lambd: float = 0.5):
    "input moved towards 0 by lambd, no further than 0"
    near = choose(np.abs(input) <= lambd, input.dtype.type(0), input)
    below = choose(input < -lambd, input + lambd, near)
    return choose(input > lambd, input - lambd, below)


@composite(samples=unary(), torch=F + "tanhshrink")
def tanhshrink(input):
    "input - tanh(input)"
    return input - input.tanh()


def slope_of_softsign(grad, input):
    share = 1 / (1 + input.abs())  # its square is 0 where that of the sum would overflow
    return grad * share * share


def softsign_of_complex(door):
    def call(input):
        return input / (1 + input.abs()) if category(input) == 3 else door(input)

    return call


@elementwise(
    "div(input, 1 + abs(input))",
    vjp={"input": slope_of_softsign},
    samples=unary(apart),
    refuses=unsupported("abs_cpu", "bool"),
    result="float",
    torch=F + "softsign",
    gate=softsign_of_complex,
    inplace=False,
)
def softsign(input):
    "input / (1 + |input|)"
    return input / (1 + np.abs(input))
