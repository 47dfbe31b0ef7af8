"""Elementwise functions, by the array API standard: of an array, of two, or one and a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.array_api.dtypes import with_number

UNARY = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh",
    "atan": "atan", "atanh": "atanh", "bitwise_invert": "bitwise_not", "ceil": "ceil",
    "cos": "cos", "cosh": "cosh", "exp": "exp", "expm1": "expm1", "floor": "floor",
    "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan", "log": "log", "log10": "log10",
    "log1p": "log1p", "log2": "log2", "logical_not": "logical_not", "negative": "neg",
    "positive": "positive", "reciprocal": "reciprocal", "round": "round", "sign": "sgn",
    "signbit": "signbit", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square",
    "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}  # fmt: skip
BINARY = {
    "add": "add", "atan2": "atan2", "bitwise_and": "bitwise_and",
    "bitwise_left_shift": "bitwise_left_shift", "bitwise_or": "bitwise_or",
    "bitwise_right_shift": "bitwise_right_shift", "bitwise_xor": "bitwise_xor",
    "copysign": "copysign", "divide": "div", "equal": "eq", "floor_divide": "floor_divide",
    "greater": "gt", "greater_equal": "ge", "hypot": "hypot", "less": "lt", "less_equal": "le",
    "logaddexp": "logaddexp", "logical_and": "logical_and", "logical_or": "logical_or",
    "logical_xor": "logical_xor", "maximum": "maximum", "minimum": "minimum", "multiply": "mul",
    "nextafter": "nextafter", "not_equal": "ne", "pow": "pow", "remainder": "remainder",
    "subtract": "sub",
}  # fmt: skip

__all__ = sorted([*UNARY, *BINARY, "clip", "conj", "imag", "real"])


def unary(name: str, op: Callable) -> Callable[..., Tensor]:
    def call(x: Tensor, /) -> Tensor:
        return op(x)

    return named(call, name, op)


def binary(name: str, op: Callable) -> Callable[..., Tensor]:
    def call(x1: Any, x2: Any, /) -> Tensor:
        return op(*both(name, x1, x2))

    return named(call, name, op)


def named(call: Callable, name: str, op: Callable) -> Callable[..., Tensor]:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = op.__doc__
    return call


def both(name: str, x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two operands as arrays: a number has the other's dtype, or that of the higher kind."""
    if isinstance(x1, Tensor) and isinstance(x2, Tensor):
        return x1, x2
    if isinstance(x1, Tensor):
        return x1, like(x1, x2)
    if isinstance(x2, Tensor):
        return like(x2, x1), x2
    raise TypeError(f"{name}: one of two operands must be an array")


def like(x: Tensor, number: Any) -> Tensor:
    dtype = with_number(x.dtype, number)
    return wgtorch.full((), number, dtype=dtype, device=x.device)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """x, but min where it is below and max where it is above, in x's dtype."""
    if min is None and max is None:
        return x.clone()
    low, high = (v.to(x.dtype) if isinstance(v, Tensor) else v for v in (min, max))
    return wgtorch.clamp(x, low, high).to(x.dtype)


def conj(x: Tensor, /) -> Tensor:
    """The complex conjugates; x itself where it is real."""
    return x.conj() if x.dtype.is_complex else x


def real(x: Tensor, /) -> Tensor:
    """The real parts."""
    return wgtorch.real(x) if x.dtype.is_complex else x


def imag(x: Tensor, /) -> Tensor:
    """The imaginary parts."""
    return wgtorch.imag(x) if x.dtype.is_complex else wgtorch.zeros_like(x)


globals().update({name: unary(name, getattr(wgtorch, op)) for name, op in UNARY.items()})
globals().update({name: binary(name, getattr(wgtorch, op)) for name, op in BINARY.items()})
