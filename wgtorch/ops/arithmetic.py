"""Sums, products, and what else schools call arithmetic. Each block is all there is to its op."""

from __future__ import annotations

from functools import partial

import numpy as np

from wgtorch.dtype import bool_, int64
from wgtorch.op import composite, elementwise
from wgtorch.ops.arguments import (
    alike,
    as_element,
    as_number,
    category,
    common_dtype,
    floats_only,
    no_numbers,
    nothing,
    nothing_for_other,
    unsupported,
)  # fmt: skip
from wgtorch.ops.branches import choose
from wgtorch.ops.samples import binary, distant, normal, unary
from wgtorch.storage import View

NO_BOOL = {
    "bool": "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or"
    " `logical_xor()` operator instead.",
    "any bool": "Subtraction, the `-` operator, with a bool tensor is not supported. If you are"
    " trying to invert a mask, use the `~` or `logical_not()` operator instead.",
}
NOT_NEGATIVE = {
    "bool": "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to"
    " invert a mask, use the `~` or `logical_not()` operator instead."
}


# Sums


def check_alpha(alpha, kind: int) -> None:
    if isinstance(alpha, float | complex) and kind < 2:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if isinstance(alpha, complex) and kind < 3:
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )


def with_alpha(door, no_bool: str = ""):
    """`add` and `sub` of `alpha * other`, which is no bool where that is refused."""

    def call(input, other, *, alpha=1):
        if type(alpha) is int and alpha == 1:
            return door(input, other)
        alpha = as_number(door.__name__, "alpha", alpha)
        kind = max(category(input), category(other))
        if isinstance(alpha, bool) and kind:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
        check_alpha(alpha, kind)
        if not isinstance(other, View):
            return door(input, other * alpha if kind else other and bool(alpha))
        if no_bool and kind and other.dtype is bool_:
            raise RuntimeError(no_bool)
        dtype = common_dtype(input, other)
        if kind == 1:
            alpha = as_element(alpha, dtype)
        return door(input, other.to(dtype) * (alpha if kind else bool(alpha)))  # type: ignore

    return call


@elementwise(
    "input + other",
    vjp={"input": lambda grad: grad, "other": lambda grad: grad},
    samples=binary(),
    front=with_alpha,
    operator="add",
    wide=True,
    complex=True,
)
def add(input, other):
    "input + alpha * other"
    return input + other


@elementwise(
    {"f32": "input + neg(other)", "": "input - other"},  # compilers make x - x 0, inf's too
    vjp={"input": lambda grad: grad, "other": lambda grad: -grad},
    samples=binary(),
    refuses=NO_BOOL,
    front=partial(with_alpha, no_bool=NO_BOOL["any bool"]),
    operator="sub",
    wide=True,
    aliases=("subtract",),
    complex=True,
)
def sub(input, other):
    "input - alpha * other"
    return input - other


@composite(samples=binary(), method=False)
def rsub(input, other, *, alpha=1):
    "other - alpha * input"
    no_numbers("rsub", 1, input=input, other=other)
    if alpha == 1:
        return other - input
    if isinstance(other, View):
        return other.sub(input, alpha=alpha)
    check_alpha(alpha, max(category(input), category(other)))
    if input.dtype is bool_:
        raise RuntimeError(NO_BOOL["any bool"])
    return (input * -alpha).add(other)


@elementwise(
    {"f32": "neg(input)", "": "-input"},
    vjp={"input": lambda grad: -grad},
    samples=unary(),
    refuses=NOT_NEGATIVE,
    aliases=("negative",),
    operator="neg",
    complex=True,
)
def neg(input):
    "-input"
    return -input


@composite(samples=unary(), operator="pos")
def positive(input):
    "The input itself"
    if input.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# Products


@elementwise(
    "input * other",
    vjp={"input": lambda grad, other: grad * other, "other": lambda grad, input: grad * input},
    samples=binary(),
    operator="mul",
    wide=True,
    aliases=("multiply",),
    complex=True,
)
def mul(input, other):
    "input * other"
    return input * other


def in_int64_for_bools(door):
    return lambda input: door(input.to(int64) if input.dtype is bool_ else input)


@elementwise(
    "input * input",
    vjp={"input": lambda grad, input: grad * input * 2},  # input * 2 may be infinite
    samples=unary(),
    gate=in_int64_for_bools,
    complex=True,
)
def square(input):
    "input * input"
    return input * input


def whole_for_integers(door):
    def call(input, tensor1, tensor2, *, value=1):
        if type(value) is complex:
            value = as_element(value, common_dtype(input, tensor1, tensor2))
            return input + value * tensor1 * tensor2
        if isinstance(input, View) and input.storage.value.dtype.category > 1:
            return door(input, tensor1, tensor2, value=value)
        dtype = common_dtype(input, tensor1, tensor2)
        value = as_element(value, dtype) if dtype.category == 1 else value
        return door(input, tensor1, tensor2, value=value)

    return call


@elementwise(
    "input + value * tensor1 * tensor2",
    vjp={
        "input": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * (tensor2 * value),
        "tensor2": lambda grad, tensor1, value: grad * (tensor1 * value),
    },
    samples=lambda rng: [
        ((normal(rng, 3, 5), normal(rng, 3, 5), normal(rng, 3, 5)), {"value": 0.5}),
        ((normal(rng, 3, 1), normal(rng, 5), normal(rng, 1, 5)), {}),
    ],
    refuses=unsupported("addcmul_cpu_out", "bool"),
    gate=whole_for_integers,
    complex=True,
    tensors=3,
)
def addcmul(input, tensor1, tensor2, *, value: float = 1):
    "input + value * tensor1 * tensor2"
    return input + value * tensor1 * tensor2


def of_one_float_dtype(door):
    def call(input, end, weight):
        if isinstance(weight, View) and not weight.layout.shape:
            weight = weight.to(input.dtype)  # type: ignore[attr-defined]
        end, weight = alike(input, end=end, weight=weight)
        if category(input) == 3:
            return input + weight * (end - input)
        if category(input) < 2:
            kernel = "lerp_kernel_tensor" if isinstance(weight, View) else "lerp_kernel_scalar"
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.short}'")
        return door(input, end, weight)

    return call


@elementwise(
    "select(end - (end - input) * (1 - weight), input + weight * (end - input), abs(weight) < 0.5)",
    vjp={
        "input": lambda grad, weight: grad * (1 - weight),
        "end": lambda grad, weight: grad * weight,
        "weight": lambda grad, input, end: grad * (end - input),
    },
    samples=lambda rng: [
        ((normal(rng, 3, 5), normal(rng, 3, 5), normal(rng, 3, 5)), {}),
        ((normal(rng, 3, 1), normal(rng, 5), 0.3), {}),
    ],
    refuses=floats_only("lerp_kernel_tensor"),
    gate=of_one_float_dtype,
    wide=True,
)
def lerp(input, end, weight):
    "Linear interpolation from input (weight 0) to end (weight 1)"
    if not weight.ndim:
        small = np.abs(weight) < 0.5
        return input + weight * (end - input) if small else end - (end - input) * (1 - weight)
    near = input + weight * (end - input)
    return choose(np.abs(weight) < 0.5, near, end - (end - input) * (1 - weight))


# Signs and sizes


@elementwise(
    "abs(input)",
    vjp={"input": lambda grad, input: grad * input.sgn()},
    samples=unary(distant),
    refuses=unsupported("abs_cpu", "bool"),
    operator="abs",
    aliases=("absolute",),
    complex=True,
    result="real",
)
def abs_(input):
    "The magnitude of each element"
    return np.abs(input)


@elementwise(
    "sign(input)",
    vjp={"input": nothing},
    samples=unary(distant),
)
def sign(input):
    "-1, 0 or 1; 0 for both zeros and for NaN"
    if input.dtype.kind != "f":
        return input if input.dtype.kind == "b" else np.sign(input)
    signs = np.asarray(np.sign(input))
    np.copyto(signs, 0, where=np.isnan(input))
    return signs


@elementwise("signbit(input)", samples=unary(), result="bool", inplace=False)
def signbit(input):
    "Whether the sign bit is set: true for -0.0 too"
    return np.signbit(input) if input.dtype.kind == "f" else input < 0


@elementwise(
    "copysign(input, other)",
    vjp={
        "input": lambda grad, input, result: grad * (result / input).masked_fill(input == 0, 0),
        "other": nothing_for_other,
    },
    samples=binary(distant),
    result="float",
    tensors=1,
)
def copysign(input, other):
    "The magnitude of input with the sign of other"
    return np.copysign(input, other)


@elementwise(
    "hypot(input, other)",
    vjp={
        "input": lambda grad, input, result: grad * (input / result),
        "other": lambda grad, other, result: grad * (other / result),
    },
    samples=binary(distant),
    refuses=floats_only("hypot_cpu"),
    tensors=2,
)
def hypot(input, other):
    "sqrt(input ** 2 + other ** 2), without overflow on the way"
    return np.hypot(input, other)


# Copies


@elementwise(
    "input",
    vjp={"input": lambda grad: grad},
    samples=unary(),
    torch="clone",
    casts=True,
    inplace=False,
    complex=True,
)
def copy(input):
    "The same numbers in memory of their own"
    return input.copy()


@elementwise("value", method=False, inplace=False, repeats=True, complex=True)
def _fill(value):
    "The same number everywhere"
    return np.asarray(value)


@composite(
    method=False, samples=lambda rng: [((normal(rng, 3, 5), 2.5), {}), ((normal(rng, 3), 1), {})]
)
def fill(input, value):
    "A tensor like the input with the same number, or 0-d tensor, everywhere."
    return input.clone().fill_(value)
