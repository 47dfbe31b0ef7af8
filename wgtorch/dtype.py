"""Element types: what numpy calls them, what WGSL computes them in, and how they promote.

Half types are computed in f32 and rounded after each op; small integers in i32 and wrapped. A
buffer holds the same bytes as numpy does.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import ml_dtypes
import numpy as np

from wgtorch.errors import DTypeNotFoundError, suggestion

CATEGORIES = ("bool", "integer", "float", "complex")


class DType:
    """One object per element type, so `is` compares."""

    __slots__ = ("category", "itemsize", "kind", "name", "np", "short", "wgsl", "zero_dim")
    encoding: Any = None  # of a composed one: how numbers become other tensors, and come back

    def __init__(self, name: str, np_type: Any, wgsl: str, category: str, short: str):
        self.name = name
        self.np = np.dtype(np_type)
        self.wgsl = wgsl  # the type WGSL computes in
        self.itemsize = self.np.itemsize
        self.category = CATEGORIES.index(category)
        self.kind = self.np.kind if self.np.kind != "V" else "f"
        self.short = short  # the name in PyTorch's messages
        self.zero_dim = ZeroDim(self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple:
        return by_name, (self.name,)

    @property
    def plain(self) -> DType:
        """What its numbers are computed in, and their gradients are of."""
        return self if self.encoding is None else self.encoding.compute

    @property
    def is_floating_point(self) -> bool:
        return self.category == 2

    @property
    def is_complex(self) -> bool:
        return self.category == 3

    @property
    def is_signed(self) -> bool:
        return self.kind not in "bu"

    def to_real(self) -> DType:
        """What the real part of such a number is."""
        return REAL.get(self, self)

    def to_complex(self) -> DType:
        """What a complex number with such a real part is."""
        return self if self.category == 3 else complex128 if self is float64 else complex64


class ZeroDim:
    """An operand kind: a tensor without dimensions, which does not widen within its category."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType):
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"0-d {self.dtype.name}"


bool_ = DType("bool", np.bool_, "bool", "bool", "Bool")
uint8 = DType("uint8", np.uint8, "i32", "integer", "Byte")
int8 = DType("int8", np.int8, "i32", "integer", "Char")
int16 = DType("int16", np.int16, "i32", "integer", "Short")
int32 = DType("int32", np.int32, "i32", "integer", "Int")
int64 = DType("int64", np.int64, "i64", "integer", "Long")
float16 = DType("float16", np.float16, "f32", "float", "Half")
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, "f32", "float", "BFloat16")
float32 = DType("float32", np.float32, "f32", "float", "Float")
float64 = DType("float64", np.float64, "f64", "float", "Double")
complex64 = DType("complex64", np.complex64, "c64", "complex", "ComplexFloat")
complex128 = DType("complex128", np.complex128, "c128", "complex", "ComplexDouble")
ALL = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
       complex128)  # fmt: skip
ALIASES = {"float": float32, "double": float64, "half": float16, "short": int16, "int": int32,
           "long": int64, "cfloat": complex64, "cdouble": complex128}  # fmt: skip
REAL = {complex64: float32, complex128: float64}
HALVES = (float16, bfloat16)

NAMES = {dtype.name: dtype for dtype in ALL}  # those of users come to them
_BY_NUMPY = {dtype.np: dtype for dtype in ALL}
_default = float32


def by_name(name: str) -> DType:
    """The dtype of a name, or DTypeNotFoundError."""
    found = NAMES.get(name) or ALIASES.get(name)
    if found is None:
        near = suggestion(name, [*NAMES, *ALIASES])
        raise DTypeNotFoundError(
            f"there is no dtype {name!r}.{near} One of a user is there once it is registered"
            " (register_dtype)."
        )
    return found


def from_numpy(kind: Any) -> DType:
    """The dtype of numpy's `kind` (an array's dtype)."""
    dtype = _BY_NUMPY.get(np.dtype(kind))
    if dtype is None:
        known = ", ".join(d.name for d in ALL)
        raise TypeError(
            f"can't convert np.ndarray of type {kind}. The only supported types are: {known}."
        )
    return dtype


def get_default_dtype() -> DType:
    """The dtype of tensors made from Python floats, and of true division of integers."""
    return _default


def set_default_dtype(d: DType) -> None:
    """Sets the default floating point dtype; `TypeError` unless it is one."""
    global _default
    if not isinstance(d, DType) or not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default = d
    forget_settled()


# Dicts of what was worked out under the defaults of now, for as long as their ops live
_settled: WeakValueDictionary[int, Any] = WeakValueDictionary()


def settled_by_defaults(table: Any) -> None:
    """Has a dict cleared whenever a default changes."""
    _settled[id(table)] = table


def forget_settled() -> None:
    for table in _settled.values():
        table.clear()


def asked(dtype: Any) -> DType:
    """The dtype a caller named: one of ours, or Python's float, int or bool."""
    if isinstance(dtype, DType):
        return dtype
    if dtype in (float, int, bool, complex):
        return {float: float64, int: int64, bool: bool_, complex: complex128}[dtype]
    raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")


def fitting(value: Any, dtype: DType, named: str = "") -> Any:
    """A number as one of `dtype`, which the complaint about another calls so; by default as C++.
    Negative ints wrap where it has no signs, as PyTorch's do."""
    if type(value) in USUAL and dtype.category == 2 and abs(value) <= most_of(dtype):
        return value
    if not isinstance(value, SCALARS):
        raise TypeError(f"argument 'value' must be Number, not {type(value).__name__}")
    if dtype.category == 3:
        parts = complex(value)
        return complex(fitting(parts.real, REAL[dtype]), fitting(parts.imag, REAL[dtype]))
    if dtype is bool_:
        return bool(value)
    if isinstance(value, COMPLEX):
        if value.imag:
            raise overflow(dtype, named)
        value = value.real
    most = most_of(dtype)
    least = -most if dtype.category > 1 or not dtype.is_signed else -most - 1
    if dtype is uint8 and isinstance(value, float):
        least = 0
    if not least <= value <= most:
        infinite = dtype.category > 1 and (value != value or value in (INFINITY, -INFINITY))
        if not infinite:
            raise overflow(dtype, named)
    if dtype.category > 1:
        return value
    return int(value) & 255 if dtype is uint8 else int(value)


def overflow(dtype: DType, named: str = "") -> RuntimeError:
    named = named or CONVERTED.get(dtype.name, dtype.name)
    return RuntimeError(f"value cannot be converted to type {named} without overflow")


CONVERTED = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int",
             "int64": "int64_t", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
             "float32": "float", "float64": "double"}  # fmt: skip
INFINITY = float("inf")
USUAL = (int, float)
SCALARS = (bool, int, float, complex, np.number, np.bool_)
COMPLEX = (complex, np.complexfloating)


def most_of(dtype: DType) -> Any:
    """Its largest finite number, as Python has it."""
    if dtype not in MOST:
        info: Any = ml_dtypes.finfo if dtype.category > 1 else np.iinfo
        MOST[dtype] = np.asarray(info(dtype.np).max).astype(object).item()
    return MOST[dtype]


MOST: dict[DType, Any] = {}


def of_number(kind: type) -> DType:
    """The dtype a Python number of this type has on its own."""
    if kind is complex:
        return _default.to_complex()
    return bool_ if kind is bool else int64 if kind is int else _default


def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype that both convert to, by PyTorch's lattice."""
    if type1 is type2:
        return type1
    for dtype in (type1, type2):
        if not isinstance(dtype, DType):
            raise TypeError(f"promote_types(): must be torch.dtype, not {type(dtype).__name__}")
    if type1.encoding is not None or type2.encoding is not None:
        return promote_composed(type1, type2)
    low, high = sorted((type1, type2), key=ALL.index)
    if high.category == 3:
        return complex128 if float64 in (low, high) else high
    if low.category != high.category:
        return high
    if high.is_floating_point:
        return float32 if high is bfloat16 else high  # float16 with bfloat16
    if low is uint8 and high is int8:
        return int16
    return high


def promote_composed(a: DType, b: DType) -> DType:
    """A composed dtype gives way to one of its own category, and takes in a lower one, unless it
    says otherwise."""
    if a.encoding is None:
        a, b = b, a
    said = a.encoding.promotes and a.encoding.promotes(b)
    if said:
        return said
    if b.category < a.category:
        return a
    return promote_types(a.plain, b.plain)


def result_kind(*kinds: Any) -> DType:
    """The common dtype of operands: DTypes (tensors), ZeroDims (0-d tensors), Python types.

    Tensors with dimensions decide; 0-d ones, then numbers, only lift the category.
    """
    ranks: list[DType | None] = [None, None, None]
    for kind in kinds:
        rank = 0 if isinstance(kind, DType) else 1 if type(kind) is ZeroDim else 2
        dtype = kind if rank == 0 else kind.dtype if rank == 1 else of_number(kind)
        known = ranks[rank]
        ranks[rank] = dtype if known is None else promote_types(known, dtype)
    result: DType | None = None
    for dtype in ranks:
        if dtype is None:
            continue
        if result is None:
            result = dtype
        elif dtype.category > result.category:
            result = result.to_complex() if result.category == 2 else dtype
    assert result is not None
    return result


def can_cast(from_: DType, to: DType) -> bool:
    """Whether PyTorch lets a result of dtype `from_` be written into a tensor of dtype `to`."""
    return asked(from_).category <= asked(to).category
