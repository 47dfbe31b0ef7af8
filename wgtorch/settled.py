"""Ops at given dtypes and layouts: all that is settled before there is data, once for all calls."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from wgtorch.dtype import HALVES, DType, bool_, complex128, float32, float64
from wgtorch.layout import Layout

if TYPE_CHECKING:
    from wgtorch.op import Elementwise, Reduction, Scan, Structured

KEPT = 1 << 13  # of each op


class TypedOp:
    """An elementwise op at given dtypes: what a promise promises, one object per op and dtypes."""

    __slots__ = ("compute", "dtype", "is_double", "kinds", "narrow", "op", "operands")

    def __init__(self, op: Elementwise, compute: DType):
        self.op, self.compute = op, compute
        self.is_double = compute is float64 or compute is complex128  # few GPUs have these
        self.dtype = op.result_dtype(compute)
        self.narrow = compute in HALVES and not op.wide  # whether numbers are rounded first
        self.operands = [bool_ if op.markers[n] == "Condition" else compute for n in op.inputs]
        self.kinds = [float32.np if d in HALVES else d.np for d in self.operands]  # as numpy has it

    def __repr__(self) -> str:
        return f"{self.op.name}_{self.compute.name}"


class Fold:
    """A reduction or scan of tensors of one layout and dtype: all that is settled without data."""

    __slots__ = ("attrs", "compute", "dims", "dtype", "dtypes", "facts", "layout", "op", "out")

    def __init__(self, op: Reduction | Scan, layout: Layout, dtype: DType, dims: tuple[int, ...],
                 out: Layout, attrs: dict[str, Any]):  # fmt: skip
        self.op, self.layout, self.dtype = op, layout, dtype  # of what is folded
        self.dims, self.out = dims, out  # sorted, never negative; of what is left
        self.attrs = attrs  # with `dim` = dims
        self.compute, self.dtypes = op.compute_dtype(dtype), op.out_dtypes(dtype)
        self.facts = out.shape, self.dtypes[0]  # of the first result

    @property
    def count(self) -> int:
        """How many are folded into each result."""
        return prod([self.layout.shape[d] for d in self.dims])


class Call:
    """A structured op on tensors of given layouts and dtypes: all that is settled without data."""

    __slots__ = ("attrs", "dtypes", "layouts", "op", "out_dtypes", "outs", "ready")

    def __init__(self, op: Structured, layouts: tuple, dtypes: tuple, attrs: dict[str, Any],
                 outs: tuple[Layout, ...], out_dtypes: tuple[DType, ...]):  # fmt: skip
        self.op, self.attrs = op, attrs
        self.layouts, self.dtypes = layouts, dtypes  # of the inputs; None, or a tuple for several
        self.outs, self.out_dtypes = outs, out_dtypes
        self.ready: Any = None  # a backend's note of how it runs this


class Met(dict):
    """What was settled for the calls of an op that were met before, by what they depend on."""

    __slots__ = ("__weakref__",)

    def keep(self, key: Any, settled: Any) -> None:
        if len(self) >= KEPT:
            self.clear()
        self[key] = settled


@cache
def results(op: str, names: tuple[str, ...]) -> Callable:
    """PyTorch's named tuple for several results; a plain one where it has no names."""
    if names[0].startswith("_"):
        return lambda *values: values
    return named(op.strip("_").removesuffix("_dim"), names)


@cache
def named(name: str, names: tuple[str, ...]) -> Callable:
    kind: Any = namedtuple(name, names, module="wgtorch.return_types")  # type: ignore[misc]
    kind.__repr__ = shown  # type: ignore[method-assign]
    return kind


def shown(self: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in self._asdict().items())
    return f"torch.return_types.{type(self).__name__}(\n{fields})"
