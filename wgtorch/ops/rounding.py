"""Whole numbers near the elements, and what is left of them."""

from __future__ import annotations

import numpy as np

from wgtorch.dtype import DType
from wgtorch.integers import integer
from wgtorch.op import elementwise
from wgtorch.ops.arguments import nothing, unsupported
from wgtorch.ops.samples import apart, unary


def rounded(name: str, **facts):
    """An op of this name, here and in WGSL; integers are what they are."""
    return elementwise(
        {"float": f"{name}(input)", "int": "input"},
        vjp={"input": nothing},
        samples=unary(apart),
        refuses=unsupported(f"{name}_vml_cpu", "bool"),
        **facts,
    )


@rounded("floor")
def floor(input):
    "The largest whole number not above"
    return np.floor(input) if input.dtype.kind == "f" else input


@rounded("ceil")
def ceil(input):
    "The smallest whole number not below"
    return np.ceil(input) if input.dtype.kind == "f" else input


@rounded("trunc", aliases=("fix",))
def trunc(input):
    "The whole number next to it towards zero"
    return np.trunc(input) if input.dtype.kind == "f" else input


def to_decimals(door):
    """`round` to a number of places behind the point, or before it where that is negative."""

    def call(input, *, decimals=0):
        decimals = integer("round", "decimals", decimals)
        if not decimals:
            return door(input)
        check_float(input.dtype)
        scale = 10.0 ** abs(decimals)
        if decimals > 0:
            return door(input * scale) / scale
        return door(input / scale) * scale

    return call


def check_float(dtype: DType) -> None:
    if not dtype.is_floating_point:
        raise NotImplementedError(f"\"round_cpu\" not implemented for '{dtype.short}'")


@rounded("round", front=to_decimals)
def round_(input):
    "The nearest whole number, the even one of two; or so many decimals"
    return np.rint(input) if input.dtype.kind == "f" else input


@elementwise(
    "frac(input)",
    vjp={"input": lambda grad: grad},
    samples=unary(apart),
    refuses=unsupported("frac_cpu", "bool", "integer"),
)
def frac(input):
    "What trunc takes away: it has the sign of the input"
    return input - np.trunc(input)
