"""For those who write ops as functions: how results are handed out."""

from __future__ import annotations

from typing import Any

from wgtorch.dispatch.write import into
from wgtorch.settled import results
from wgtorch.tensor import Tensor


def apply_out(out: Tensor | None, result: Tensor, name: str = "apply_out") -> Tensor:
    """`result`, or `out` with the result written into it as `out=` arguments are."""
    return result if out is None else into(out, result, name)


def create_cum_extreme_result(values: Tensor, indices: Tensor, name: str = "cummax") -> Any:
    """What cummax and cummin return."""
    return results(name, ("values", "indices"))(values, indices)
