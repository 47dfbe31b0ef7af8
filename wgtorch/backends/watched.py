"""A backend that is watched: every op against its numpy reference, or for its first NaN.

WGTORCH_CHECK=1 and WGTORCH_NAN=1 put it in front of the webgpu backend. It computes each op at once
and reads it back, so it is slow; what it reports is the first op that went wrong, not the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from wgtorch.backend import Backend, Front, backend
from wgtorch.config import CHECK, NAN
from wgtorch.device import Device
from wgtorch.dtype import bfloat16, float16
from wgtorch.layout import Layout
from wgtorch.settled import Call
from wgtorch.storage import Storage, Value, View

EPSILON = {float16: 2e-3, bfloat16: 1.6e-2}  # two roundings of a half


class Watched(Front):
    """Everything else than ops goes straight to the backend behind."""

    def __init__(self, home: Any):
        super().__init__(home)
        self.cpu: Any = backend(Device("cpu"))

    def elementwise(self, typed, args, attrs, out):
        value = self.home.elementwise(typed, args, attrs, out)
        self.judge(typed.op, args, (value,), (out,), lambda here: (
            self.cpu.elementwise(typed, here, attrs, out),))  # fmt: skip
        return value

    def source(self, view):
        return self.home.source(view), View(Storage(view.storage.value), view.layout)

    def reduction(self, fold, source):
        inner, view = source
        result = self.home.reduction(fold, inner)
        values = result if isinstance(result, tuple) else (result,)
        outs = (fold.out,) * len(values)

        def reference(here):
            wanted = self.cpu.reduction(fold, self.cpu.source(here[0]))
            return wanted if isinstance(wanted, tuple) else (wanted,)

        self.judge(fold.op, (view,), values, outs, reference)
        return result

    def structured(self, call, args):
        values = self.home.structured(call, args)
        again = Call(call.op, call.layouts, call.dtypes, call.attrs, call.outs, call.out_dtypes)
        self.judge(call.op, args, values, call.outs, lambda here: self.cpu.structured(again, here))
        return values

    # Judging

    def judge(
        self, op: Any, args: Sequence, values: Sequence[Value], outs: Sequence[Layout],
        reference: Callable[[tuple], Sequence[Value]],
    ) -> None:  # fmt: skip
        have = [self.read(value, out) for value, out in zip(values, outs, strict=True)]
        here = tuple([self.brought(a) for a in args])
        if NAN:
            find_nan(op.name, have, here)
        if CHECK and op.tolerance < inf:
            want = [self.cpu.download(View(Storage(v), o)) for v, o in zip(
                reference(here), outs, strict=True)]  # fmt: skip
            for got, wanted, value in zip(have, want, values, strict=True):
                tolerance = EPSILON.get(value.dtype, 4 * op.tolerance)
                compare(op.name, got, wanted, tolerance)

    def read(self, value: Value, out: Layout) -> np.ndarray:
        return np.array(self.home.download(View(Storage(value), out)))

    def brought(self, arg: Any) -> Any:
        """An operand on the cpu."""
        if isinstance(arg, tuple):
            return tuple([self.brought(a) for a in arg])
        if not isinstance(arg, View):
            return arg
        array = np.ascontiguousarray(self.home.download(arg))
        value = self.cpu.adopt(array.reshape(-1), arg.dtype)
        return View(Storage(value), Layout.contiguous(arg.layout.shape))


def compare(name: str, have: np.ndarray, want: np.ndarray, tolerance: float) -> None:
    if have.dtype.kind in "biu":
        wrong = have != want
    else:
        kind = np.complex128 if have.dtype.kind == "c" else np.float64
        a, b = have.astype(kind), want.astype(kind)
        with np.errstate(all="ignore"):
            near = np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        wrong = ~near
    if np.any(wrong):
        first = tuple(int(i) for i in np.argwhere(wrong)[0]) if have.ndim else ()
        raise RuntimeError(
            f"WGTORCH_CHECK: {name} differs from its reference in {int(np.sum(wrong))} of"
            f" {have.size} elements; the first at {first}: {have[first]} instead of {want[first]}"
        )


def find_nan(name: str, have: Sequence[np.ndarray], here: tuple) -> None:
    if any(has_nan(v.storage.value.buffer) for v in here if isinstance(v, View)):
        return
    for array in have:
        if has_nan(array):
            first = tuple(int(i) for i in np.argwhere(nans(array))[0])
            raise RuntimeError(f"WGTORCH_NAN: {name} made the first NaN, at {first}")


def has_nan(array: np.ndarray) -> bool:
    return array.dtype.kind not in "biu" and bool(nans(array).any())


def nans(array: np.ndarray) -> np.ndarray:
    return np.isnan(array if array.dtype.kind == "c" else array.astype(np.float32))


def watched(home: Backend) -> Any:
    """`home`, watched if an environment variable asks for it."""
    return Watched(home) if CHECK or NAN else home
