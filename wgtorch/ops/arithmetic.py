"""Sums, products, and what else schools call arithmetic. Each block is all there is to its op."""

from __future__ import annotations

import numpy as np

from wgtorch.op import Condition, elementwise
from wgtorch.ops.samples import binary, normal, positive, unary

NO_BOOL = {
    "bool": "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or"
    " `logical_xor()` operator instead."
}


@elementwise(
    "input + other",
    vjp={"input": lambda grad: grad, "other": lambda grad: grad},
    samples=binary(),
    operator="add",
)
def add(input, other):
    "input + other"
    return input + other


@elementwise(
    "input - other",
    vjp={"input": lambda grad: grad, "other": lambda grad: -grad},
    samples=binary(),
    refuses=NO_BOOL,
    operator="sub",
)
def sub(input, other):
    "input - other"
    return input - other


@elementwise(
    "input * other",
    vjp={"input": lambda grad, other: grad * other, "other": lambda grad, input: grad * input},
    samples=binary(),
    operator="mul",
    aliases=("multiply",),
)
def mul(input, other):
    "input * other"
    return input * other


@elementwise(
    "div(input, other)",
    vjp={
        "input": lambda grad, other: grad / other,
        "other": lambda grad, result, other: -grad * result / other,
    },
    samples=binary(normal, positive),
    result="float",
    operator="truediv",
)
def div(input, other):
    "input / other, never truncating"
    return np.true_divide(input, other)


@elementwise("input", vjp={"input": lambda grad: grad}, samples=unary(), torch="clone")
def copy(input):
    "The same numbers in memory of their own"
    return np.copy(input)


@elementwise("value", method=False)
def fill(value):
    "The same number everywhere"
    return np.asarray(value)


@elementwise("-input", vjp={"input": lambda grad: -grad}, samples=unary(), aliases=("negative",))
def neg(input):
    "-input"
    return -input


@elementwise(
    "exp(input)", vjp={"input": lambda grad, result: grad * result}, samples=unary(), result="float"
)
def exp(input):
    "e to the power input"
    return np.exp(input)


@elementwise(
    "relu(input)", vjp={"input": lambda grad, result: grad * (result > 0)}, samples=unary()
)
def relu(input):
    "max(input, 0); the gradient at 0 is 0"
    return np.maximum(input, 0)


@elementwise("gt(input, other)", samples=binary(), result="bool", operator="gt")
def gt(input, other):
    "input > other"
    return input > other


@elementwise("eq(input, other)", samples=binary(), result="bool", operator="eq")
def eq(input, other):
    "input == other"
    return input == other


@elementwise(
    "select(other, input, condition)",
    vjp={
        "input": lambda grad, condition: condition.where(grad, 0),
        "other": lambda grad, condition: condition.where(0, grad),
    },
    samples=lambda rng: [((normal(rng, 3, 4) > 0, normal(rng, 3, 4), normal(rng, 4)), {})],
)
def where(condition: Condition, input, other):
    "input where condition, else other"
    return np.where(condition, input, other)
