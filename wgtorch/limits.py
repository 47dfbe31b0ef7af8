"""Limits: what numbers an element type can hold, as `finfo` and `iinfo` tell."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from wgtorch.dtype import DType, asked, bool_, get_default_dtype


def numeric(type: Any) -> DType:
    """A dtype that has limits of its own."""
    dtype = asked(type)
    if dtype.encoding is not None:
        raise TypeError(f"{dtype} is made of other tensors, which decide what numbers it can hold")
    return dtype


class finfo:
    """Of a floating point type (the default one if none is given): `max`, `eps`, `tiny` ..."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: DType | None = None):
        type = get_default_dtype() if type is None else numeric(type)
        if type.category < 2:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle"
                " 'torch.finfo'"
            )
        real = type.to_real()
        known: Any = ml_dtypes.finfo(real.np)
        self.bits, self.dtype = 8 * real.itemsize, real.name
        for name in ("eps", "max", "min", "smallest_normal", "tiny"):
            setattr(self, name, float(getattr(known, name)))
        self.resolution = float(f"{float(known.resolution):.0e}")

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        said = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({said}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class iinfo:
    """Of an integer type: `min`, `max`, `bits`."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: DType):
        type = numeric(type)
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != 1:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle"
                " 'torch.iinfo'"
            )
        known = np.iinfo(type.np)
        self.bits, self.dtype = 8 * type.itemsize, type.name
        self.min, self.max = int(known.min), int(known.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)
