"""Variable, as tensors with a gradient were called before PyTorch 0.4: every tensor is one."""

from __future__ import annotations

from typing import Any

from wgtorch.storage import View


class Kind(type):
    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, View)


class Variable(metaclass=Kind):
    """`Variable(tensor, requires_grad=False)` is the tensor detached, on the same memory."""

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, View):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and data.dtype.category < 2:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        return data.detach().requires_grad_(bool(requires_grad))  # type: ignore[attr-defined]
