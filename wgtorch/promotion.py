"""Promotion: which dtype an op computes in, and which it refuses."""

from __future__ import annotations

from typing import Any

from wgtorch import dtype as dtypes_  # type: ignore[attr-defined, no-redef]
from wgtorch.dtype import DType, ZeroDim, bool_, int64


class Folding:
    """What reductions and scans share: how dtypes follow from `folds` and `result`."""

    folds: str  # what is computed in: "same" | "sum" (integers as int64) | "bool"
    result: str | tuple[str, ...]  # the compute dtype ("same") | "bool" | "index" | "real"
    refuses: dict[str, str]  # category -> PyTorch's complaint
    complex: str | bool
    name: str

    def compute_dtype(self, dtype: DType) -> DType:
        """What elements are folded in."""
        text = self.refuses.get(dtypes_.CATEGORIES[dtype.category])
        if text:
            raise RuntimeError(text.format(op=self.name, dtype=dtype.short))
        if dtype.category == 3 and not self.complex:
            raise lacks_complex(self, dtype)
        if self.folds == "bool":
            return bool_
        return int64 if self.folds == "sum" and dtype.category < 2 else dtype

    def out_dtypes(self, dtype: DType) -> tuple[DType, ...]:
        """Of the results, for elements of `dtype`."""
        truth = bool_ if dtype is not dtypes_.uint8 else dtype
        known = {"same": self.compute_dtype(dtype), "bool": truth, "index": int64}
        known["real"] = known["same"].to_real()
        said = self.result if isinstance(self.result, tuple) else (self.result,)
        return tuple([known[word] for word in said])


def lacks_complex(op: Any, dtype: DType) -> Exception:
    """PyTorch's complaint, with the kernel that others of the op's complaints name."""
    known = [text for text in getattr(op, "refuses", {}).values() if "not implemented" in text]
    text = known[0] if known else f"\"{op.name.strip('_')}_cpu\" not implemented for '{{dtype}}'"
    return NotImplementedError(text.format(op=op.name, dtype=dtype.short))


def is_bool(kind: DType | ZeroDim | type) -> bool:
    """Whether a kind of operand is that of bools."""
    return kind in (bool, bool_) or kind is bool_.zero_dim
