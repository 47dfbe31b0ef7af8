"""Judge: says what is wrong with a result, by torch's tolerances or by what is exact."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.opinfo.core import DecorateInfo, OpInfo

from tests.oracle.opinfo.crossing import back

WIDE = {torch.float16: torch.float64, torch.float32: torch.float64,
        torch.complex64: torch.complex128}  # fmt: skip
UNSET = re.compile(r"empty|resize_")  # what is in memory that nobody wrote is nobody's matter


def tolerances(op: OpInfo) -> dict[torch.dtype, tuple[float, float]]:
    """The op's own (rtol, atol) of a dtype, where it has some."""
    found: dict[torch.dtype, tuple[float, float]] = {}
    for decorator in op.decorators:
        each = decorator.decorators if isinstance(decorator, DecorateInfo) else [decorator]
        for override in each:
            if isinstance(override, toleranceOverride):
                for dtype, (atol, rtol) in override.d.items():
                    old = found.get(dtype, (0.0, 0.0))
                    found[dtype] = (max(rtol, old[0]), max(atol, old[1]))
    return found


DEFAULT = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5),
           torch.float32: (1.3e-6, 1e-5), torch.complex64: (1.3e-6, 1e-5),
           torch.float64: (1e-7, 1e-7), torch.complex128: (1e-7, 1e-7)}  # fmt: skip


class Judge:
    """Says what is wrong with a result, or nothing."""

    def __init__(self, op: OpInfo):
        self.allowed = tolerances(op)
        self.unset = bool(UNSET.search(op.name))

    def complaint(self, got: Any, want: Any, exact: Callable[[], Any] | None, loose: bool) -> str:
        got, want = tuple_of(back(got)), tuple_of(want)
        if len(got) != len(want):
            return f"{len(got)} results, not {len(want)}"
        for number, (g, w) in enumerate(zip(got, want, strict=True)):
            if isinstance(w, tuple | list):
                if said := self.complaint(g, w, None, loose):
                    return said
                continue
            if isinstance(g, torch.Tensor) != isinstance(w, torch.Tensor):
                return f"{type(g).__name__}, not {type(w).__name__}"
            if not isinstance(w, torch.Tensor):
                if not same_number(g, w):
                    return f"{g}, not {w}"
                continue
            if g.dtype != w.dtype:
                return f"{g.dtype}, not {w.dtype}"
            if g.shape != w.shape:
                return f"shape {tuple(g.shape)}, not {tuple(w.shape)}"
            if loose or self.unset or self.near(g, w):
                continue
            if exact is not None and w.dtype in WIDE:
                true = tuple_of(exact())
                if len(true) == len(want) and self.as_exact(g, w, true[number]):
                    continue
            return difference(g, w)
        return ""

    def near(self, got: torch.Tensor, want: torch.Tensor, more: float = 0) -> bool:
        rtol, atol = DEFAULT.get(want.dtype, (0.0, 0.0))
        own = self.allowed.get(want.dtype, (0.0, 0.0))
        return torch.allclose(got, want, max(rtol, own[0]), max(atol, own[1], more), equal_nan=True)

    def as_exact(self, got: torch.Tensor, want: torch.Tensor, true: Any) -> bool:
        """That it is what float64 gives, or no further from that than torch, times four."""
        if not isinstance(true, torch.Tensor) or true.shape != want.shape:
            return False
        rounded = true.to(want.dtype)
        error = (want.to(true.dtype) - true).abs()
        error = error[error.isfinite()]
        return self.near(got, rounded, 4 * float(error.max()) if error.numel() else 0.0)


def same_number(got: Any, want: Any) -> bool:
    if isinstance(want, float | complex) and isinstance(got, float | complex):
        return bool(np.isclose(got, want, 1e-5, 1e-5, equal_nan=True))
    return bool(got == want)


def difference(got: torch.Tensor, want: torch.Tensor) -> str:
    equal = torch.isclose(got, want, equal_nan=True)
    place = tuple((~equal).nonzero()[0].tolist()) if not equal.all() else ()
    worst = float((got.to(torch.complex128) - want.to(torch.complex128)).abs().nan_to_num(0).max())
    return (
        f"{int((~equal).sum())} of {want.numel()} differ by up to {worst:.2g}: "
        f"{got[place].tolist()}, not {want[place].tolist()} at {place}"
    )[:300]


def tuple_of(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)
