"""Truth values, and integers bit by bit."""

from __future__ import annotations

import numpy as np

from wgtorch.op import Condition, elementwise
from wgtorch.ops.arguments import common_dtype, unsupported
from wgtorch.ops.samples import binary, bools, integers, unary
from wgtorch.storage import View

# Truth: any element that is not zero counts as true


def of_one_dtype(door):
    """What yields to another dtype is true or not as one of that, as PyTorch takes it."""

    def call(input, other):
        if isinstance(input, View) and isinstance(other, View) and input.dtype is not other.dtype:
            dtype = common_dtype(input, other)
            input, other = [
                t if t.ndim or t.dtype.itemsize <= dtype.itemsize else t.to(dtype)
                for t in (input, other)
            ]
        return door(input, other)

    return call


def combined(wgsl: str):
    return elementwise(wgsl, samples=binary(integers), result="bool", complex=True, tensors=2,
                       gate=of_one_dtype)  # fmt: skip


@combined("input && other")
def logical_and(input: Condition, other: Condition):
    "Whether both are true (not zero)"
    return np.logical_and(input, other)


@combined("input || other")
def logical_or(input: Condition, other: Condition):
    "Whether any of the two is true (not zero)"
    return np.logical_or(input, other)


@combined("(input && !other) || (!input && other)")
def logical_xor(input: Condition, other: Condition):
    "Whether exactly one is true (not zero)"
    return np.logical_xor(input, other)


@elementwise("!input", samples=unary(bools), result="bool", complex=True)
def logical_not(input: Condition):
    "Whether it is zero"
    return np.logical_not(input)


# Bits


def bitwise(wgsl: str, name: str):
    refuses = unsupported(f"bitwise_{name}_cpu", "float")
    return elementwise(wgsl, samples=binary(integers), refuses=refuses, operator=name)


@bitwise("input & other", "and")
def bitwise_and(input, other):
    "The bits that both have"
    return np.bitwise_and(input, other)


@bitwise("input | other", "or")
def bitwise_or(input, other):
    "The bits that any has"
    return np.bitwise_or(input, other)


@bitwise("input ^ other", "xor")
def bitwise_xor(input, other):
    "The bits that exactly one has"
    return np.bitwise_xor(input, other)


@elementwise(
    {"bool": "1 - input", "": "~input"},
    samples=unary(integers),
    refuses=unsupported("bitwise_not_cpu", "float"),
    operator="invert",
)
def bitwise_not(input):
    "The bits it does not have; not, for bools"
    return np.invert(input)


def shifted(wgsl: str, name: str):
    refuses = unsupported(f"{name}_cpu", "bool", "float")
    samples = binary(integers, lambda rng, *shape: rng.integers(0, 6, shape))
    return elementwise(wgsl, samples=samples, refuses=refuses, operator=name)


@shifted("shl(input, other)", "lshift")
def bitwise_left_shift(input, other):
    "input * 2 ** other, wrapped; 0 where other is negative or more than the bits there are"
    return np.left_shift(input, other)


@shifted("shr(input, other)", "rshift")
def bitwise_right_shift(input, other):
    "input / 2 ** other, rounded down"
    return np.right_shift(input, other)
