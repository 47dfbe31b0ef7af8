"""A Parameter is a tensor that a module counts as its own and an optimizer may change.

One that is uninitialized has a dtype and a device, and waits to be told its shape.
"""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, empty
from wgtorch.autograd.parameters import adopt
from wgtorch.layout import Layout
from wgtorch.size import Size
from wgtorch.storage import View


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


LAYOUT: Any = vars(View)["layout"]  # the slot, which a property hides while there is no shape


class UninitializedTensorMixin:
    """Refuses, with ValueError, whatever needs a shape, until it is materialized."""

    __slots__ = ()

    cls_to_become: type

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a tensor of this shape, in place; its elements are not set."""
        device = self.device if device is None else device
        made = empty(shape, device=device, dtype=self.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become
        self.data = made

    @property
    def layout(self) -> Layout:
        raise ValueError(
            "Attempted to use an uninitialized parameter in an op. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch "
            "functions"
        )

    @layout.setter
    def layout(self, layout: Layout) -> None:
        LAYOUT.__set__(self, layout)

    @property
    def shape(self) -> Size:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    @property
    def data(self: Any) -> Tensor:
        """The memory that it has in the meantime: an empty tensor of the dtype, on the device."""
        return Tensor(self.storage, LAYOUT.__get__(self))

    @data.setter
    def data(self: Any, data: Tensor) -> None:
        self.storage, self.layout = data.storage, data.layout

    def detach(self) -> Any:
        """Itself, so that the state of a module has it."""
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> tuple:
        return type(self), (self.requires_grad, self.device, self.dtype)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            kind, given = self.__reduce_ex__(None)
            memo[id(self)] = kind(*given)
        return memo[id(self)]


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet."""

    cls_to_become = Parameter

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None):
        Parameter.__init__(self, empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet."""

    cls_to_become = Buffer

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None,
                 persistent: bool = True):  # fmt: skip
        Buffer.__init__(self, empty(0, device=device, dtype=dtype), persistent=persistent)
        self.requires_grad_(requires_grad)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        kind, given = super().__reduce_ex__(protocol)
        return kind, (*given, self.persistent)


def is_lazy(param: Any) -> bool:
    """Whether it is a parameter or a buffer whose shape is not known yet."""
    return isinstance(param, UninitializedTensorMixin)
