"""Index: what stands in `x[...]`, read and written, with numpy's and PyTorch's rules.

Ints, slices, None and Ellipsis make views; masks, integer tensors and sequences of numbers gather
elements into new memory. A mixture does first what makes a view, then gathers from that.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from wgtorch.arrays import as_index
from wgtorch.config import outside
from wgtorch.dispatch.doors import DOORS
from wgtorch.dispatch.overlap import check_apart
from wgtorch.dispatch.write import is_put, overwritten, write
from wgtorch.dtype import bool_, from_numpy, int64, uint8
from wgtorch.errors import DeviceError, IndexOutOfBoundsError
from wgtorch.layout import wrap_dim
from wgtorch.ops.batched import is_batched, refuse_mask
from wgtorch.storage import View


class Indexed:
    """What a tensor is to `x[...]` and to a loop."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        setitem(self, index, value)

    def at(self, *index: Any) -> Any:
        """`x[index]`, for those who come from languages without it."""
        return getitem(self, index[0] if len(index) == 1 else index)

    def slice(
        self, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
    ) -> Any:
        """Every `step`-th of `start` to `end` along `dim`, both of which must lie in the tensor:
        IndexOutOfBoundsError where `x[start:end:step]` would do with less.
        """
        at = wrap_dim(dim, self.ndim)  # type: ignore[attr-defined]
        size = self.layout.shape[at] if self.layout.shape else 0
        for name, place in (("start", start), ("end", end)):
            if place is not None and not -size <= place <= size:
                raise IndexOutOfBoundsError(
                    f"slice(): {name} {place} is out of bounds for dimension {dim} with size {size}"
                )
        return DOORS["_slice"](self, at, start, end, step)

    def __iter__(self) -> Any:
        if not self.layout.shape:  # type: ignore[attr-defined]
            raise TypeError("iteration over a 0-d tensor")
        return iter(DOORS["unbind"](self))


SCALARS = (bool, int, float, complex, np.number, np.bool_)
SEVERAL = (slice, View, list, tuple, range, np.ndarray)  # what an entry of a tuple would be
MANY = 32  # from this length on a list is an index by itself, whatever is in it


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`."""
    if type(index) is int:
        return at(x, 0, index, 0)
    if type(index) is slice and x.layout.shape:
        return cut(x, 0, index)
    if isinstance(index, View) and x.layout.shape and index.layout.shape:
        value = index.storage.value
        if value.dtype is int64 and value.device is x.storage.value.device:
            return DOORS["_index"](x, index, 0)
    view = viewed(x, index) if type(index) is tuple else None
    if view is not None:
        return view
    view, gathered = located(x, index)
    if gathered is None:
        return view if view is not x else DOORS["permute"](x, tuple(range(len(x.layout.shape))))
    return DOORS["_index_by"](view, gathered)


def setitem(x: Any, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    if type(index) is bool:  # all of it, of any dtype; or nothing
        x, index = DOORS["unsqueeze"](x, 0), slice(0, int(index))
    simple = type(index) is int or (type(index) is slice and index.step is None)
    if simple and is_put(x, index, value):
        return
    view = viewed(x, index if type(index) is tuple else (index,))
    view, gathered = (view, None) if view is not None else located(x, index)
    if not isinstance(value, View):
        if not isinstance(value, SCALARS):
            raise TypeError(
                f"can't assign a {type(value).__name__} to a torch.{x.dtype.short}Tensor"
            )
        value = x.new_full((), value) if gathered is None else value
    elif value.device is not x.device:
        value = value.to(x.device)  # type: ignore[attr-defined]
    if gathered is None:
        write(view, stretched(view, value), "copy_")
    else:
        masks = all([part is None or part.dtype in (bool_, uint8) for part in gathered])
        if not masks or (isinstance(value, View) and value.layout.numel > 1):
            check_apart(view, (value, gathered), "all")  # of one number a mask makes a choice
        overwritten(DOORS["index_put"], "index_put_", view, gathered, value)


def stretched(view: Any, value: Any) -> Any:
    """The value in the shape of the view; leading dimensions of size 1 do not count."""
    shape, wanted = value.layout.shape, view.layout.shape
    if shape == wanted:
        return value
    while len(shape) > len(wanted) and shape[0] == 1:
        value, shape = DOORS["select"](value, 0, 0), shape[1:]
    return DOORS["expand"](value, wanted)


# One index after the other


def viewed(x: Any, parts: tuple) -> Any:
    """What ints, slices and None make of `x`; None where there is more to it, or nothing at all."""
    view, dim, asked, rank = x, 0, 0, len(x.layout.shape)
    for part in parts:
        kind = type(part)
        if part is None:
            view, dim = DOORS["unsqueeze"](view, dim), dim + 1
            continue
        if asked >= rank or (kind is not int and kind is not slice):
            return None
        if kind is int:
            view = at(view, dim, part, asked)
        else:
            if part.start is not None or part.stop is not None or part.step is not None:
                view = cut(view, dim, part)
            dim += 1
        asked += 1
    return None if view is x else view


def located(x: Any, index: Any) -> tuple[Any, list[Any] | None]:
    """(the view that ints, slices, None and Ellipsis make, what is to be gathered from it)."""
    parts = unpacked(index)
    asked = sum([dims_of(part) for part in parts])
    rank = len(x.layout.shape)
    if asked > rank:
        if not rank and any(type(part) is int for part in parts):
            raise IndexOutOfBoundsError(NO_DIMS)
        raise IndexOutOfBoundsError(f"too many indices for tensor of dimension {rank}")
    walk = Walk(x)
    for part in parts:
        if part is None:
            walk.add_dimension()
        elif part is Ellipsis:
            walk.skip(rank - asked)
        elif isinstance(part, slice):
            walk.slice(part)
        elif isinstance(part, bool | np.bool_):
            walk.gather_all_or_nothing(bool(part))
        elif isinstance(part, View):
            walk.tensor(part)
        else:
            walk.select(int(part))
    return walk.view, walk.gathered if walk.gathers else None


NO_DIMS = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to"
    " convert a 0-dim tensor to a number"
)


class Walk:
    """Where an expression has come to: the view so far, and the dimension that is next."""

    def __init__(self, x: Any):
        self.x = self.view = x
        self.dim = 0  # of the view
        self.asked = 0  # of the tensor itself, for messages
        self.gathered: list[Any] = []  # for each entry up to here a tensor, or None
        self.gathers = False

    def add_dimension(self) -> None:
        self.view = DOORS["unsqueeze"](self.view, self.dim)
        self.step(None)

    def skip(self, count: int) -> None:
        for _ in range(count):
            self.asked += 1
            self.step(None)

    def slice(self, part: slice) -> None:
        self.view = cut(self.view, self.dim, part)
        self.skip(1)

    def select(self, index: int) -> None:
        self.view = at(self.view, self.dim, index, self.asked)
        self.asked += 1

    def gather_all_or_nothing(self, truth: bool) -> None:
        self.view = DOORS["unsqueeze"](self.view, self.dim)
        self.gather(self.x.new_zeros((int(truth),), dtype=int64), 1)

    def tensor(self, part: Any) -> None:
        part = like(self.x, part)
        dtype, shape = part.storage.value.dtype, part.layout.shape
        if shape or dtype.category > 1:
            counts = len(shape) if dtype is bool_ or dtype is uint8 else 1
            self.asked += counts
            self.gather(part, counts)
        elif dtype is bool_ or dtype is uint8:
            refuse_mask(part)
            self.gather_all_or_nothing(bool(part.item()))
        elif is_batched(part):  # each sample has its own, so that none is a number
            self.asked += 1
            self.gather(part, 1)
        else:
            self.select(int(part.item()))

    def gather(self, part: Any, dims: int) -> None:
        self.gathers = True
        self.step(part, dims)

    def step(self, entry: Any, dims: int = 1) -> None:
        self.gathered.append(entry)
        self.dim += dims


def at(x: Any, dim: int, index: int, asked: int) -> Any:
    shape = x.layout.shape
    if not shape:
        raise IndexOutOfBoundsError(NO_DIMS)
    size = shape[dim]
    if not -size <= index < size:
        if not -(1 << 63) <= index < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        raise IndexOutOfBoundsError(
            f"index {index} is out of bounds for dimension {asked} with size {size}"
        )
    return DOORS["select"](x, dim, index)


def cut(x: Any, dim: int, part: slice) -> Any:
    start, stop, step = part.start, part.stop, part.step
    if step is not None:
        step = step.__index__()
        if step == 0:
            raise ValueError("slice step cannot be zero")
        if step < 0:
            raise ValueError("step must be greater than zero")
    elif start is None and stop is None and dim:
        return x
    try:
        start, stop, _ = slice(start, stop).indices(x.layout.shape[dim])
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None
    return DOORS["_slice"](x, dim, start, stop, step or 1)


# What the parts of an expression are


def unpacked(index: Any) -> list[Any]:
    """The parts of an expression, sequences of numbers among them as tensors or arrays."""
    if not isinstance(index, tuple):
        index = tuple(index) if is_several(index) else (index,)
    return [understood(part) for part in index]


def is_several(index: Any) -> bool:
    """Whether a list stands for a tuple of indices, as numpy once had it."""
    if not isinstance(index, list) or len(index) >= MANY:
        return False
    for part in index:
        if part is None or part is Ellipsis or isinstance(part, SEVERAL):
            warnings.warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated and will be"
                " changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this"
                " will be interpreted as tensor index, x[torch.tensor(seq)], which will result"
                " either in an error or a different result",
                UserWarning,
                stacklevel=outside(),
            )
            return True
    return False


def understood(part: Any) -> Any:
    """None, Ellipsis, a slice, a bool, an int, a tensor, or an array that will be one."""
    if part is None or part is Ellipsis or isinstance(part, slice | bool | int | View | np.bool_):
        return part
    if isinstance(part, np.ndarray):
        return Listed(as_index(part))
    if isinstance(part, Sequence):
        return Listed(as_index(numbers_in(part)))
    if hasattr(part, "__index__"):
        return part.__index__()
    raise IndexError(
        f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid"
        f" indices (got {type(part).__name__})"
    )


class Listed(View):
    """A sequence of numbers, before it is a tensor on the device of what it indexes."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray):
        self.array = array


def numbers_in(part: Any) -> Any:
    if isinstance(part, View):
        if part.storage.value.dtype.category > 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return part.tolist()  # type: ignore[attr-defined]
    if isinstance(part, str | bytes):  # a sequence of itself
        raise TypeError(f"new(): invalid data type '{type(part).__name__}'")
    return [numbers_in(p) for p in part] if isinstance(part, Sequence) else part


def dims_of(part: Any) -> int:
    """How many dimensions of the tensor a part is about."""
    if part is None or part is Ellipsis or isinstance(part, bool | np.bool_):
        return 0
    if isinstance(part, Listed):
        return part.array.ndim if part.array.dtype in (np.bool_, np.uint8) else 1
    if isinstance(part, View) and part.dtype in (bool_, uint8):
        return len(part.layout.shape)
    return 1


def like(x: Any, part: Any) -> Any:
    """The index as a tensor on the device of what it indexes."""
    if isinstance(part, Listed):
        return x.new_tensor(part.array, dtype=from_numpy(part.array.dtype))
    if part.device is x.device:
        return part
    if x.device.type == "cpu" != part.device.type and part.layout.shape:
        raise DeviceError(
            "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
        )
    return part.to(x.device)
