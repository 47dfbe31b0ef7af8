"""Quotients, what they leave, and common divisors."""

from __future__ import annotations

import numpy as np

from wgtorch.dtype import of_number
from wgtorch.op import elementwise
from wgtorch.ops.arguments import category, floats_only, nothing, nothing_for_other, unsupported
from wgtorch.ops.samples import apart, binary, distant, nonzero, normal, unary
from wgtorch.storage import View


def with_rounding_mode(door):
    """`div` whose quotient may be rounded."""

    def call(input, other, *, rounding_mode: str | None = None):
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
    wide=True,
    aliases=("divide", "true_divide"),
    complex=True,
)
def div(input, other):
    "input / other; integers are divided as floats unless a rounding_mode says otherwise"
    return np.true_divide(input, other)


def check_divisor(input, other):
    """PyTorch's complaint of the cpu; a GPU answers 0."""
    if other.dtype.kind in "iu" and input.size and not np.all(other):
        raise RuntimeError("ZeroDivisionError")


def by_a_number(door):
    """Refuses 0 where it is known when called: no GPU is asked to divide integers by it."""

    def call(input, other):
        integers = isinstance(input, View) and input.dtype.category < 2 and input.layout.numel
        if integers and is_zero(other, input.dtype):
            raise RuntimeError("ZeroDivisionError")
        return door(input, other)

    return call


def is_zero(divisor, dtype) -> bool:
    """Whether it is a number, or one element on the cpu, that integers of `dtype` see as 0."""
    if isinstance(divisor, View):
        known = not divisor.layout.shape and divisor.is_cpu and not divisor.device.level
        return known and divisor.dtype.category == 1 and not divisor.item()
    if divisor.__class__ is int:
        return not divisor & ((1 << 8 * dtype.itemsize) - 1 if dtype.category else -1)
    return divisor is False and dtype.category == 1  # bools by bools are refused elsewhere


@elementwise(
    "floor_div(input, other)",
    vjp={"input": nothing, "other": nothing_for_other},
    samples=binary(apart, distant),
    refuses=unsupported("div_floor_cpu", "bool"),
    operator="floordiv",
    gate=by_a_number,
)
def floor_divide(input, other):
    "input / other, rounded down"
    check_divisor(input, other)
    return np.floor_divide(input, other)


@elementwise(
    "trunc_div(input, other)",
    vjp={"input": nothing, "other": nothing_for_other},
    samples=binary(apart, distant),
    refuses=unsupported("div_trunc_cpu", "bool"),
    gate=by_a_number,
)
def _div_trunc(input, other):
    "input / other, rounded towards zero"
    check_divisor(input, other)
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
    gate=by_a_number,
)
def remainder(input, other):
    "What input / other rounded down leaves; it has the sign of other"
    if other.dtype.kind != "f":
        check_divisor(input, other)
        return np.remainder(input, other)
    rest = np.asarray(np.fmod(input, other))
    other_side = (rest != 0) & ((rest < 0) != (other < 0))
    return np.add(rest, other, out=rest, where=other_side)


@elementwise(
    "fmod(input, other)",
    vjp={
        "input": lambda grad: grad,
        "other": lambda grad, input, other: -grad * input._div_trunc(other),
    },
    samples=binary(apart, distant),
    refuses=unsupported("fmod_cpu", "bool"),
    tensors=1,
    gate=by_a_number,
)
def fmod(input, other):
    "What input / other rounded towards zero leaves; it has the sign of input"
    check_divisor(input, other)
    return np.fmod(input, other)


@elementwise(
    "reciprocal(input)",
    vjp={"input": lambda grad, result: -grad * (result * result)},
    samples=unary(distant),
    result="float",
    complex=True,
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
        if type(value) is complex:
            return input + value * tensor1 / tensor2
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
    refuses=floats_only("addcdiv_cpu_out"),
    gate=only_floats,
    complex=True,
    tensors=3,
)
def addcdiv(input, tensor1, tensor2, *, value: float = 1):
    "input + value * tensor1 / tensor2"
    return input + input.dtype.type(value) * tensor1 / tensor2


# Common divisors


@elementwise(
    "gcd(input, other)",
    samples=binary(nonzero),
    refuses=unsupported("gcd_cpu", "bool", "float"),
    tensors=2,
)
def gcd(input, other):
    "The greatest common divisor"
    return np.gcd(input, other)


@elementwise(
    "lcm(input, other)",
    samples=binary(nonzero),
    refuses=unsupported("lcm_cpu", "bool", "float"),
    tensors=2,
)
def lcm(input, other):
    "The least common multiple"
    kind = np.promote_types(input.dtype, np.int32)  # which small integers overflow later
    return np.abs(np.lcm(input, other, dtype=kind)).astype(input.dtype)
