"""Tensors given another size or other memory in place, and filled: along diagonals, or by functions
of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch.autograd.mode import state
from wgtorch.constants import check_named
from wgtorch.dispatch.blame import blaming
from wgtorch.dispatch.resizing import check_changeable, resize
from wgtorch.dispatch.write import check_writable
from wgtorch.integers import given_size, shape_of
from wgtorch.layout import Layout, row_major
from wgtorch.storage import Storage, View
from wgtorch.storages import TypedStorage, UntypedStorage
from wgtorch.tensor import Tensor


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None, **named: Any) -> Tensor:
    """Another size over the same memory, which grows where it is too small; new elements are 0."""
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = given_size("resize_", sizes, named)
    check_named("resize_", named)
    resize(self, shape)
    return self


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """`resize_` to the size of another tensor."""
    return resize_(self, the_template.layout.shape)


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None,
         stride: Any = None) -> Tensor:  # fmt: skip
    """The memory, size and strides of another tensor, or a view of a storage; nothing if None."""
    check_changeable(self)
    if source is None:
        source = self.new_zeros((0,))
    if isinstance(source, TypedStorage | UntypedStorage):
        storage: Storage = source._storage
        rest = storage.value.numel - storage_offset
        shape = (rest,) if size is None else shape_of("set_", (size,))
        strides = tuple(row_major(shape)) if stride is None else tuple(stride)
        whole = Tensor(storage, Layout.contiguous((storage.value.numel,)))
        source = whole.as_strided(shape, strides, storage_offset)
    if not isinstance(source, View):
        raise TypeError(
            f"set_(): argument 'source' must be Tensor or Storage, not {type(source).__name__}"
        )
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {source.dtype.name} to a tensor of type"
            f" {self.dtype.name}"
        )
    self.storage, self.layout = source.storage, source.layout
    return self


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """`fill_value` where all indices are equal; returns the tensor.

    RuntimeError if there are fewer than 2 dims, or more than 2 that are not of equal length. With
    `wrap` the diagonal of a tall (n, m) matrix begins anew every m + 1 rows.
    """
    shape = self.layout.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows, rest, one_more = 0, self, shape[1] + 1
    if wrap and len(shape) == 2 and shape[0] > one_more:
        rows = shape[0] - shape[0] % one_more
        blocks = self[:rows].unflatten(0, (-1, one_more))  # type: ignore[attr-defined]
        blocks.diagonal(0, 1, 2).fill_(fill_value)
        rest = self[rows:]
    while len(rest.layout.shape) > 1:
        rest = rest.diagonal()  # type: ignore[attr-defined]
    rest.fill_(fill_value)
    return self


def called(name: str, tensor: Tensor, function: Callable) -> None:
    if tensor.requires_grad:
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}()"
            " instead."
        )
    if not tensor.is_cpu:
        raise TypeError(f"{name} is only implemented on CPU tensors")
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Each element replaced by what a function of Python makes of it; slow, and only on the cpu."""
    called("apply_", self, callable)
    return filled(self, [callable(value) for value in self.reshape(-1).tolist()])


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """As `apply_`, of two elements each; `tensor` broadcasts."""
    called("map_", self, callable)
    other = tensor.expand(self.layout.shape).reshape(-1).tolist()
    pairs = zip(self.reshape(-1).tolist(), other, strict=True)
    return filled(self, [callable(a, b) for a, b in pairs])


def filled(target: Tensor, values: list) -> Tensor:
    array = np.asarray(values).astype(target.dtype.np).reshape(target.layout.shape)
    return target.copy_(target.new_tensor(array, dtype=target.dtype))


def is_same_size(self: Tensor, other: Tensor) -> bool:
    return self.layout.shape == other.layout.shape


def turned(name: str) -> Callable[..., Tensor]:
    """The form in place of an op that makes a view: the tensor itself is seen so from here on."""

    def call(self: Tensor, *args: Any, **given: Any) -> Tensor:
        if state.recording:
            check_writable(self)
        check_changeable(self)
        seen: Any = getattr(self, name)(*args, **given)
        self.layout = seen.layout
        if seen._wants:
            self.past, self._wants, self.output_nr = seen.past, True, seen.output_nr
        if self.storage.version >= 0:
            self.storage.version += 1
        return self

    call.__name__ = call.__qualname__ = name + "_"
    call.__doc__ = f"In-place version of :meth:`{name}`: the same memory, seen otherwise."
    return call


def reversed_(self: Tensor) -> Any:
    """`reversed(x)`: from the last of the first dim to the first."""
    return iter(list(self)[::-1])


Tensor.__reversed__ = reversed_  # type: ignore[attr-defined]
for _method in (resize_, resize_as_, set_, fill_diagonal_, apply_, map_, is_same_size):
    setattr(Tensor, _method.__name__, _method)
for _name in ("resize_as_", "is_same_size"):
    setattr(Tensor, _name, blaming(getattr(Tensor, _name), __name__, 0))
for _name in ("transpose", "t", "squeeze", "unsqueeze", "swapaxes", "swapdims", "as_strided"):
    setattr(Tensor, _name + "_", turned(_name))
for _fact in ("is_sparse", "is_quantized", "is_mkldnn", "is_mps", "is_xpu", "is_ipu", "is_nested"):
    setattr(Tensor, _fact, False)
