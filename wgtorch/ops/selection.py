"""Choosing between elements: by a condition, by size, by being a number at all."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from wgtorch.dtype import bfloat16, bool_, float16, float32, float64, result_kind, uint8
from wgtorch.op import Condition, Other, elementwise
from wgtorch.ops.arguments import (
    C_NAMES,
    as_element,
    floats_only,
    is_usual,
    nothing,
    required,
    unsupported,
)
from wgtorch.ops.bare import clip
from wgtorch.ops.batched import STATIC, refuse
from wgtorch.ops.branches import FEW, choose
from wgtorch.ops.samples import above, apart, binary, bools, normal, unary
from wgtorch.storage import View

# By a condition


def from_one_or_three(door):
    """`where` with values to choose from, or none: then it says where the condition holds."""

    def call(condition, input=None, other=None):
        if not isinstance(condition, View):
            raise TypeError(
                f"where(): argument 'condition' (position 1) must be Tensor, not"
                f" {type(condition).__name__}"
            )
        if input is None and other is None:
            refuse(condition, "where", STATIC)
            return condition.nonzero(as_tuple=True)
        if input is None or other is None:
            lacking = "input" if input is None else "other"
            raise TypeError(f"where() missing 1 required positional argument: '{lacking}'")
        if condition.dtype not in (bool_, uint8):
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype"
                f" {condition.dtype.short}"
            )
        if type(input) is int or type(other) is int:
            input, other = beside(input, other), beside(other, input)
        return door(condition, input, other)

    return call


def beside(number, other):
    """One of the dtype of integers that it stands beside."""
    if type(number) is int and isinstance(other, View) and other.dtype.category == 1:
        return as_element(number, other.dtype)
    return number


@elementwise(
    "select(other, input, condition)",
    vjp={
        "input": lambda grad, condition: grad.where(condition, 0),
        "other": lambda grad, condition: grad.masked_fill(condition, 0),
    },
    samples=lambda rng: [
        ((bools(rng, 3, 5), normal(rng, 3, 5), normal(rng, 3, 5)), {}),
        ((bools(rng, 3, 1), normal(rng, 5), normal(rng)), {}),
        ((bools(rng, 3, 5), normal(rng, 3, 5), 2.5), {}),
    ],
    front=from_one_or_three,
    method=lambda face: lambda self, condition, other: face(condition, self, other),
    inplace=False,
    complex=True,
)
def where(condition: Condition, input, other):
    "input where condition, else other; with a condition alone, where it holds (see nonzero)"
    return choose(condition, input, other)


def masked(door):
    def call(input, mask, value):
        if not isinstance(mask, View) or mask.dtype is not bool_:
            required("masked_fill", input=input, mask=mask)
            kind = C_NAMES[mask.dtype.name]
            raise RuntimeError(
                f"masked_fill_ only supports boolean masks, but got mask with dtype {kind}"
            )
        if not isinstance(value, View):
            return door(input, mask, as_element(value, input.dtype))
        if value.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with"
                f" {value.ndim} dimension(s)."
            )
        if value.dtype.category > input.dtype.category:
            value = as_element(value.item(), input.dtype)
        return door(input, mask, value)

    return call


@elementwise(
    "select(input, value, mask)",
    vjp={
        "input": lambda grad, mask: grad.masked_fill(mask, 0),
        "value": lambda grad, mask: grad.where(mask, 0),
    },
    samples=lambda rng: [
        ((normal(rng, 3, 5), bools(rng, 3, 5), -2.0), {}),
        ((normal(rng, 3, 5), bools(rng, 5), normal(rng)), {}),
    ],
    gate=masked,
    torch="masked_fill",
    complex=True,
)
def masked_fill(input, mask: Condition, value: Other):
    "input, but value where mask"
    if mask.shape == input.shape and input.shape and not value.shape and mask.size < FEW:
        result = input.copy()
        result[mask] = value
        return result
    return choose(mask, np.asarray(value, input.dtype), input)


@elementwise(
    "value",
    vjp={"input": nothing, "value": lambda grad: grad},
    inplace=False,
    samples=binary(),
    complex=True,
)
def _level(input, value):
    "The value, and a gradient of zero for the input"
    return np.broadcast_arrays(np.asarray(value), input)[0].copy()


# By size. NaN wins, except in fmax and fmin, where it loses.


def shared(grad, input, other, loses):
    """Half of the gradient where the two are equal."""
    return grad.where(input != other, grad / 2).masked_fill(loses, 0)


@elementwise(
    "maximum(input, other)",
    vjp={
        "input": lambda grad, input, other: shared(grad, input, other, input < other),
        "other": lambda grad, input, other: shared(grad, input, other, input > other),
    },
    samples=binary(apart, above),
    inplace=False,
    tensors=2,
)
def maximum(input, other):
    "The larger of two; NaN if one is NaN"
    return np.maximum(input, other)


@elementwise(
    "minimum(input, other)",
    vjp={
        "input": lambda grad, input, other: shared(grad, input, other, input > other),
        "other": lambda grad, input, other: shared(grad, input, other, input < other),
    },
    samples=binary(apart, above),
    inplace=False,
    tensors=2,
)
def minimum(input, other):
    "The smaller of two; NaN if one is NaN"
    return np.minimum(input, other)


@elementwise(
    "fmax(input, other)",
    vjp={
        "input": lambda grad, input, other: grad.where((input >= other) | other.isnan(), 0),
        "other": lambda grad, input, other: grad.masked_fill((input >= other) | other.isnan(), 0),
    },
    samples=binary(apart, above),
    inplace=False,
    tensors=2,
)
def fmax(input, other):
    "The larger of two; NaN only if both are"
    return np.fmax(input, other)


@elementwise(
    "fmin(input, other)",
    vjp={
        "input": lambda grad, input, other: grad.where((input <= other) | other.isnan(), 0),
        "other": lambda grad, input, other: grad.masked_fill((input <= other) | other.isnan(), 0),
    },
    samples=binary(apart, above),
    inplace=False,
    tensors=2,
)
def fmin(input, other):
    "The smaller of two; NaN only if both are"
    return np.fmin(input, other)


# Between bounds


@elementwise(
    "clamp_min(input, min)",
    vjp={
        "input": lambda grad, input, min: grad.where(input >= min, 0),
        "min": lambda grad, input, min: grad.where(input < min, 0),
    },
    samples=binary(apart, above),
    gate=lambda door: lambda input, min: door(input, *bounds("clamp_min", input, min)),
    tensors=1,
)
def clamp_min(input, min):
    "input, but min where it is below"
    return np.maximum(input, min)


@elementwise(
    "clamp_max(input, max)",
    vjp={
        "input": lambda grad, input, max: grad.where(input <= max, 0),
        "max": lambda grad, input, max: grad.where(input > max, 0),
    },
    samples=binary(apart, above),
    gate=lambda door: lambda input, max: door(input, *bounds("clamp_max", input, max)),
    tensors=1,
)
def clamp_max(input, max):
    "input, but max where it is above"
    return np.minimum(input, max)


def bounds(op: str, input, *numbers):
    """Numbers as bounds, which the dtype that all have in common must be able to hold."""
    if not isinstance(input, View):
        return numbers
    dtype = input.storage.value.dtype
    if not all([type(n) in REAL for n in numbers]):
        return numbers
    if dtype.category < 2:
        dtype = result_kind(dtype, *map(type, numbers))
    if dtype is bool_:
        raise NotImplementedError(f"\"{op}_scalar_cpu\" not implemented for 'Bool'")
    return [as_element(n, dtype) for n in numbers]


REAL = (bool, int, float)


def with_either_bound(door):
    """`clamp` with a lower bound, an upper bound or both."""

    def call(input, min=None, max=None):
        if min is None and max is None:
            raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
        try:
            if max is None:
                return input.clamp_min(min)
            if min is None:
                return input.clamp_max(max)
            if is_usual(min) and is_usual(max) and input.storage.value.dtype is float32:
                return door(input, min, max)
            return door(input, *bounds("clamp", input, min, max))
        except TypeError:
            for name, value in (("min", min), ("max", max)):
                if isinstance(value, str | bytes | list | tuple):
                    what = f"must be Tensor or Number, not {type(value).__name__}"
                    raise TypeError(f"clamp(): argument '{name}' {what}") from None
            raise

    return call


@elementwise(
    "clamp(input, min, max)",
    vjp={
        "input": lambda grad, input, min, max: grad.where((input >= min) & (input <= max), 0),
        "min": lambda grad, input, min, max: grad.where((input < min) & (min < max), 0),
        "max": lambda grad, input, min, max: grad.where((input > max) | (max < min), 0),
    },
    samples=lambda rng: [
        ((apart(rng, 3, 5), -1.0, 1.5), {}),
        ((apart(rng, 3, 5), above(rng, 3, 5) - 2, apart(rng, 5) + 1), {}),
    ],
    refuses=unsupported("clamp_cpu", "bool"),
    front=with_either_bound,
    aliases=("clip",),
)
def clamp(input, min, max):
    "input, but min where it is below and max where it is above; max where the two cross"
    return clip(input, min, max)


# By being a number


LARGEST = {d: float(ml_dtypes.finfo(d.np).max) for d in (float16, bfloat16, float32, float64)}


def with_limits(door):
    """`nan_to_num`, whose infinities become the dtype's extremes unless others are given."""

    def call(input, nan=None, posinf=None, neginf=None):
        if input.dtype.is_complex:
            parts = call(input.view_as_real(), nan, posinf, neginf)
            return parts.view_as_complex()
        if not input.dtype.is_floating_point:
            return input.clone()
        largest = LARGEST[input.dtype]
        nan = 0.0 if nan is None else nan
        posinf = largest if posinf is None else posinf
        neginf = -largest if neginf is None else neginf
        return door(input, nan, posinf, neginf)

    return call


@elementwise(
    "select(select(select(input, neginf, is_neginf(input)), posinf, is_posinf(input)), nan,"
    " is_nan(input))",
    vjp={"input": lambda grad, input: grad.where(input.isfinite(), 0)},
    samples=unary(),
    refuses=floats_only("nan_to_num"),
    front=with_limits,
)
def nan_to_num(input, nan: float = 0.0, posinf: float = 0.0, neginf: float = 0.0):
    "NaN and infinities replaced by numbers"
    finite = np.where(np.isnan(input), input.dtype.type(nan), input)
    finite = np.where(np.isposinf(input), input.dtype.type(posinf), finite)
    return np.where(np.isneginf(input), input.dtype.type(neginf), finite)


def of_one_dtype(door):
    def call(input, values):
        of_both = isinstance(input, View) and isinstance(values, View)
        if of_both and values.dtype is not input.dtype:
            raise RuntimeError(
                "heaviside is not yet implemented for tensors with different dtypes."
            )
        return door(input, values)

    return call


@elementwise(
    "select(relu(sign(input)), values, eq(input, 0))",
    samples=binary(normal),
    gate=of_one_dtype,
    tensors=2,
)
def heaviside(input, values):
    "0 where input is negative or NaN, values where it is 0, 1 where it is positive"
    return choose(input == 0, values, (input > 0).astype(input.dtype))
