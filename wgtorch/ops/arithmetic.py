"""Sums, products, and what else schools call arithmetic. Each block is all there is to its op."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import bool_, int64, of_number
from wgtorch.op import composite, elementwise
from wgtorch.ops.samples import apart, binary, distant, nonzero, normal, unary
from wgtorch.storage import View

NO_BOOL = {
    "bool": "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or"
    " `logical_xor()` operator instead."
}
NOT_NEGATIVE = {
    "bool": "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to"
    " invert a mask, use the `~` or `logical_not()` operator instead."
}


def unsupported(kernel: str, *categories: str) -> dict[str, str]:
    """What PyTorch says where a kernel lacks a category of dtypes."""
    text = f"\"{kernel}\" not implemented for '{{dtype}}'"
    return dict.fromkeys(categories, text)


def nothing(grad, input_shape):
    """The gradient of what is constant almost everywhere."""
    return grad.new_zeros(input_shape)


def nothing_for_other(grad, other_shape):
    return grad.new_zeros(other_shape)


def category(operand: Any) -> int:
    """0 bool, 1 integer, 2 float."""
    return (operand.dtype if isinstance(operand, View) else of_number(type(operand))).category


def whole(input: Any, number: Any) -> Any:
    """A number as an operand of an op that computes in the dtype of `input`."""
    return int(number) if category(input) == 1 and not isinstance(number, View) else number


# Sums


def with_alpha(door):
    """`add` and `sub` of `alpha * other`."""

    def call(input, other, *, alpha=1):
        if type(alpha) is int and alpha == 1:
            return door(input, other)
        kind = max(category(input), category(other))
        if isinstance(alpha, bool) and kind:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
        if isinstance(alpha, float) and kind < 2:
            raise RuntimeError(
                "For integral input tensors, argument alpha must not be a floating point number."
            )
        return door(input, other * (alpha if kind else bool(alpha)))

    return call


@elementwise(
    "input + other",
    vjp={"input": lambda grad: grad, "other": lambda grad: grad},
    samples=binary(),
    front=with_alpha,
    operator="add",
)
def add(input, other):
    "input + alpha * other"
    return input + other


@elementwise(
    "input - other",
    vjp={"input": lambda grad: grad, "other": lambda grad: -grad},
    samples=binary(),
    refuses=NO_BOOL,
    front=with_alpha,
    operator="sub",
    aliases=("subtract",),
)
def sub(input, other):
    "input - alpha * other"
    return input - other


@composite(samples=binary(), method=False)
def rsub(input, other, *, alpha=1):
    "other - alpha * input"
    if alpha == 1:
        return other - input
    if isinstance(other, View):
        return other.sub(input, alpha=alpha)
    return (input * -alpha).add(other)


@elementwise(
    "-input",
    vjp={"input": lambda grad: -grad},
    samples=unary(),
    refuses=NOT_NEGATIVE,
    aliases=("negative",),
    operator="neg",
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
    aliases=("multiply",),
)
def mul(input, other):
    "input * other"
    return input * other


def in_int64_for_bools(door):
    return lambda input: door(input.to(int64) if input.dtype is bool_ else input)


@elementwise(
    "input * input",
    vjp={"input": lambda grad, input: grad * (input * 2)},
    samples=unary(),
    gate=in_int64_for_bools,
)
def square(input):
    "input * input"
    return input * input


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
)
def addcmul(input, tensor1, tensor2, *, value: float = 1):
    "input + value * tensor1 * tensor2"
    return input + input.dtype.type(value) * tensor1 * tensor2


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
    refuses=unsupported("lerp_kernel_scalar", "bool", "integer"),
    gate=lambda door: lambda input, end, weight: door(input, *alike(input, end=end, weight=weight)),
)
def lerp(input, end, weight):
    "Linear interpolation from input (weight 0) to end (weight 1)"
    near = input + weight * (end - input)
    return np.where(np.abs(weight) < 0.5, near, end - (end - input) * (1 - weight))


C_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int",
           "int32": "int", "int64": "long int", "float16": "c10::Half",
           "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double"}  # fmt: skip


def alike(input, **others):
    """The others, which must have the dtype of `input` if they are tensors."""
    for name, other in others.items():
        if isinstance(other, View) and other.dtype is not input.dtype:
            raise RuntimeError(
                f"expected dtype {C_NAMES[input.dtype.name]} for `{name}` but got dtype"
                f" {C_NAMES[other.dtype.name]}"
            )
    return others.values()


# Quotients


def with_rounding_mode(door):
    """`div` whose quotient may be rounded."""

    def call(input, other, *, rounding_mode=None):
        if rounding_mode is None:
            return door(input, other)
        if rounding_mode not in ("trunc", "floor"):
            raise RuntimeError(
                "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found"
                f" '{rounding_mode}'"
            )
        if not isinstance(input, View):
            input = other.new_full((), input, dtype=of_number(type(input)))
        return input.floor_divide(other) if rounding_mode == "floor" else input._div_trunc(other)

    return call


@elementwise(
    "div(input, other)",
    vjp={
        "input": lambda grad, other: grad / other,
        "other": lambda grad, input, other: -grad * (input / other / other),
    },
    samples=binary(normal, distant),
    result="float",
    front=with_rounding_mode,
    operator="truediv",
    aliases=("divide", "true_divide"),
)
def div(input, other):
    "input / other; integers are divided as floats unless a rounding_mode says otherwise"
    return np.true_divide(input, other)


def check_divisor(other):
    """PyTorch's complaint of the cpu; a GPU answers 0."""
    if other.dtype.kind in "iu" and not np.all(other):
        raise RuntimeError("ZeroDivisionError")


@elementwise(
    "floor_div(input, other)",
    vjp={"input": nothing, "other": nothing_for_other},
    samples=binary(apart, distant),
    refuses=unsupported("div_floor_cpu", "bool"),
    operator="floordiv",
)
def floor_divide(input, other):
    "input / other, rounded down"
    check_divisor(other)
    return np.floor_divide(input, other)


@elementwise(
    "trunc_div(input, other)",
    vjp={"input": nothing, "other": nothing_for_other},
    samples=binary(apart, distant),
    refuses=unsupported("div_trunc_cpu", "bool"),
)
def _div_trunc(input, other):
    "input / other, rounded towards zero"
    check_divisor(other)
    if input.dtype.kind == "f":
        return np.trunc(input / other)
    quotient = np.floor_divide(input, other)
    return quotient + ((quotient < 0) & (np.remainder(input, other) != 0))


@elementwise(
    "floor_mod(input, other)",
    vjp={
        "input": lambda grad: grad,
        "other": lambda grad, input, other: -grad * input.floor_divide(other),
    },
    samples=binary(apart, distant),
    refuses=unsupported("remainder_cpu", "bool"),
    operator="mod",
)
def remainder(input, other):
    "What input / other rounded down leaves; it has the sign of other"
    check_divisor(other)
    rest = np.fmod(input, other)
    other_side = (rest != 0) & ((rest < 0) != (other < 0))
    return np.where(other_side, rest + other, rest)


@elementwise(
    "fmod(input, other)",
    vjp={
        "input": lambda grad: grad,
        "other": lambda grad, input, other: -grad * input._div_trunc(other),
    },
    samples=binary(apart, distant),
    refuses=unsupported("fmod_cpu", "bool"),
)
def fmod(input, other):
    "What input / other rounded towards zero leaves; it has the sign of input"
    check_divisor(other)
    return np.fmod(input, other)


@elementwise(
    "reciprocal(input)",
    vjp={"input": lambda grad, result: -grad * (result * result)},
    samples=unary(distant),
    result="float",
)
def reciprocal(input):
    "1 / input"
    return np.reciprocal(input)


def only_floats(door):
    def call(input, tensor1, tensor2, *, value=1):
        if category(tensor1) < 2 and category(tensor2) < 2:
            raise RuntimeError(
                "Integer division with addcdiv is no longer supported, and in a future  release"
                " addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv"
                " behavior can be implemented as (input + value * torch.trunc(tensor1 /"
                " tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 /"
                " tensor2) for float inputs. The future addcdiv behavior is just the latter"
                " implementation: (input + value * tensor1 / tensor2), for all dtypes."
            )
        return door(input, tensor1, tensor2, value=value)

    return call


@elementwise(
    "input + div(value * tensor1, tensor2)",
    vjp={
        "input": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * (value / tensor2),
        "tensor2": lambda grad, tensor1, tensor2, value: (
            -grad * (tensor1 * value / (tensor2 * tensor2))
        ),
    },
    samples=lambda rng: [
        ((normal(rng, 3, 5), normal(rng, 3, 5), distant(rng, 3, 5)), {"value": 0.5}),
        ((normal(rng, 3, 1), normal(rng, 5), distant(rng, 1, 5)), {}),
    ],
    gate=only_floats,
)
def addcdiv(input, tensor1, tensor2, *, value: float = 1):
    "input + value * tensor1 / tensor2"
    return input + input.dtype.type(value) * tensor1 / tensor2


# Common divisors


@elementwise(
    "gcd(input, other)",
    samples=binary(nonzero),
    refuses=unsupported("gcd_cpu", "bool", "float"),
)
def gcd(input, other):
    "The greatest common divisor"
    return np.gcd(input, other)


@elementwise(
    "lcm(input, other)",
    samples=binary(nonzero),
    refuses=unsupported("lcm_cpu", "bool", "float"),
)
def lcm(input, other):
    "The least common multiple"
    return np.lcm(input, other)


# Signs and sizes


@elementwise(
    "abs(input)",
    vjp={"input": lambda grad, input: grad * input.sign()},
    samples=unary(distant),
    refuses=unsupported("abs_cpu", "bool"),
    operator="abs",
    aliases=("absolute",),
)
def abs_(input):
    "The magnitude of each element"
    return np.abs(input)


@elementwise(
    "sign(input)",
    vjp={"input": nothing},
    samples=unary(distant),
    aliases=("sgn",),
)
def sign(input):
    "-1, 0 or 1; 0 for both zeros and for NaN"
    if input.dtype.kind == "f":
        return (input > 0).astype(input.dtype) - (input < 0)
    return input if input.dtype.kind == "b" else np.sign(input)


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
    refuses=unsupported("hypot_cpu", "bool", "integer"),
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
)
def copy(input):
    "The same numbers in memory of their own"
    return np.copy(input)


@elementwise("value", method=False, inplace=False)
def fill(value):
    "The same number everywhere"
    return np.asarray(value)
