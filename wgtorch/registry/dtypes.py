"""Questions about dtypes: by name, their size, range, and what computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wgtorch.dtype import ALIASES, ALL, DType, asked, most_of
from wgtorch.errors import DTypeNotFoundError, MethodDTypeNotSupportedError, suggestion

NAMES = {dtype.name: dtype for dtype in ALL}
RegisteredDType = DType


@dataclass(frozen=True)
class DTypeInfo:
    """What is known of a dtype."""

    name: str
    itemsize: int  # bytes
    kind: str  # bool, integer, float or complex
    is_signed: bool
    minimum: Any  # of its finite numbers; None of complex ones
    maximum: Any
    numpy: str
    wgsl: str  # the type that shaders compute in


def get_dtype(name: str | DType) -> DType:
    """The dtype of a name ("float32", "half", "torch.int64"), or DTypeNotFoundError."""
    if isinstance(name, DType):
        return name
    short = str(name).removeprefix("torch.").removeprefix("wgtorch.")
    found = NAMES.get(short) or ALIASES.get(short)
    if found is None:
        raise DTypeNotFoundError(
            f"there is no dtype {name!r}.{suggestion(short, [*NAMES, *ALIASES])}"
        )
    return found


def has_dtype(name: str | DType) -> bool:
    """Whether there is a dtype of this name."""
    try:
        get_dtype(name)
    except DTypeNotFoundError:
        return False
    return True


def get_dtype_info(dtype: str | DType) -> DTypeInfo:
    """Size, kind and range of a dtype."""
    known = get_dtype(dtype)
    kind = ("bool", "integer", "float", "complex")[known.category]
    low: Any = None
    high: Any = None
    if known.category < 3:
        high = True if known.category == 0 else most_of(known)
        low = False if not known.category else -high if known.category == 2 else 0
        low = -high - 1 if known.category == 1 and known.is_signed else low
    return DTypeInfo(known.name, known.itemsize, kind, known.is_signed, low, high,
                     known.np.name, known.wgsl)  # fmt: skip


def get_real_dtype(dtype: str | DType) -> DType:
    """What the real part of a complex dtype is; other dtypes are their own."""
    return get_dtype(dtype).to_real()


def is_complex_dtype(dtype: str | DType) -> bool:
    return get_dtype(dtype).is_complex


def is_floating_point_dtype(dtype: str | DType) -> bool:
    return get_dtype(dtype).is_floating_point


def list_dtypes() -> list[DType]:
    """All dtypes, in the order of promotion."""
    return list(ALL)


def validate_dtype(dtype: Any, allowed: tuple[DType, ...] = (), op: str = "") -> DType:
    """The dtype, if it is one and among those `allowed` (all by default)."""
    known = get_dtype(dtype) if isinstance(dtype, str) else asked(dtype)
    if allowed and known not in allowed:
        listed = ", ".join(repr(d) for d in allowed)
        raise MethodDTypeNotSupportedError(f"{op or 'this op'} takes {listed}, not {known!r}")
    return known
