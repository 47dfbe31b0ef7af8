"""A Parameter is a tensor that a module counts as its own and an optimizer may change."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, empty
from wgtorch.autograd.parameters import adopt


class Parameter(Tensor):
    """`data` as a leaf that wants a gradient; assigned to a module it registers itself."""

    is_parameter = True  # for autograd, which cannot see us: this memory stays on its device

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True):
        data = empty(0) if data is None else data
        super().__init__(data.storage, data.layout)
        self.requires_grad_(requires_grad)
        adopt(self)

    @property
    def data(self) -> Tensor:
        """The same memory as a tensor without gradient; assigning gives the parameter another."""
        return self.detach()

    @data.setter
    def data(self, data: Tensor) -> None:
        Tensor.data.fset(self, data)  # type: ignore[attr-defined]
        adopt(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return type(self), (self.data, self.requires_grad)


class Buffer(Tensor):
    """`data` as module state that is not trained; assigned to a module it registers itself."""

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True):
        data = empty(0) if data is None else data
        super().__init__(data.storage, data.layout)
        self.requires_grad_(data.requires_grad)
        self.persistent = persistent
