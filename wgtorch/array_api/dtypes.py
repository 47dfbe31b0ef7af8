"""Dtypes, by the array API standard: what they are and what they become together."""

from __future__ import annotations

from typing import Any, NamedTuple

import wgtorch
from wgtorch import Tensor

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

SIGNED = (wgtorch.int8, wgtorch.int16, wgtorch.int32, wgtorch.int64)
REAL, COMPLEX = (wgtorch.float32, wgtorch.float64), (wgtorch.complex64, wgtorch.complex128)
KINDS: dict[str, tuple[Any, ...]] = {
    "bool": (wgtorch.bool,),
    "signed integer": SIGNED,
    "unsigned integer": (wgtorch.uint8,),
    "integral": (*SIGNED, wgtorch.uint8),
    "real floating": (*REAL, wgtorch.float16, wgtorch.bfloat16),
    "complex floating": COMPLEX,
    "numeric": (*SIGNED, wgtorch.uint8, *REAL, wgtorch.float16, wgtorch.bfloat16, *COMPLEX),
}


class FInfo(NamedTuple):
    """What a floating dtype (of complex ones, that of the parts) can represent."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


class IInfo(NamedTuple):
    """What an integer dtype can represent."""

    bits: int
    max: int
    min: int
    dtype: Any


def dtype_of(type: Any) -> Any:
    return type.dtype if isinstance(type, Tensor) else type


def finfo(type: Any, /) -> FInfo:
    """The limits of a floating dtype, or of an array's."""
    info = wgtorch.finfo(dtype_of(type))
    kind = dtype_of(type).to_real()
    return FInfo(info.bits, info.eps, info.max, info.min, info.smallest_normal, kind)


def iinfo(type: Any, /) -> IInfo:
    """The limits of an integer dtype, or of an array's."""
    info = wgtorch.iinfo(dtype_of(type))
    return IInfo(info.bits, info.max, info.min, dtype_of(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind ("integral", "numeric", ...), or of one of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: kind {kind!r} is none of {', '.join(KINDS)}")
        return any(dtype is each for each in KINDS[kind])
    return dtype is kind


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype, or an array's, is promoted to another with it."""
    return wgtorch.promote_types(dtype_of(from_), to) is to


def result_type(*arrays_and_dtypes: Any) -> Any:
    """What arrays, dtypes and Python numbers are promoted to; a number never widens its kind."""
    kinds = [dtype_of(a) for a in arrays_and_dtypes if not isinstance(a, NUMBERS)]
    if not kinds:
        raise ValueError("result_type: there must be an array or a dtype among the arguments")
    result = kinds[0]
    for kind in kinds[1:]:
        result = wgtorch.promote_types(result, kind)
    for number in arrays_and_dtypes:
        if isinstance(number, NUMBERS):
            result = with_number(result, number)
    return result


NUMBERS = (bool, int, float, complex)


def with_number(dtype: Any, number: Any) -> Any:
    """The dtype of an array and a number together."""
    if isinstance(number, complex):
        return dtype.to_complex() if dtype.category > 1 else COMPLEX[0]
    if isinstance(number, float) and dtype.category < 2:
        return wgtorch.get_default_dtype()
    if isinstance(number, int) and not isinstance(number, bool) and dtype is wgtorch.bool:
        return wgtorch.int64
    return dtype


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The elements as another dtype; without `copy`, x itself where nothing changes."""
    if x.dtype.is_complex and not (dtype.is_complex or dtype is wgtorch.bool):
        raise TypeError(f"astype: {x.dtype} numbers cannot become {dtype}; take real(x)")
    result = x.to(device=device or x.device, dtype=dtype)
    return result.clone() if copy and result is x else result
