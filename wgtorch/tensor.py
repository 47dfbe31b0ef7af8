"""Tensor: a View with a past. Its methods are the registered ops, plus the few written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch import show
from wgtorch.autograd.mode import state
from wgtorch.autograd.nodes import ToCopyBackward0, strided
from wgtorch.autograd.results import maker
from wgtorch.autograd.tensors import Differentiable
from wgtorch.autograd.transforms.encoded import components_of, joined, place_for
from wgtorch.autograd.transforms.level import between
from wgtorch.backend import backend
from wgtorch.constants import check_named, check_strided
from wgtorch.device import Device
from wgtorch.dispatch.blame import blaming
from wgtorch.dispatch.doors import DOORS, cast
from wgtorch.dispatch.write import is_put, write
from wgtorch.dtype import (
    ALIASES,
    ALL,
    NAMES,
    DType,
    asked,
    bfloat16,
    bool_,
    by_name,
    complex64,
    complex128,
    fitting,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    result_kind,
    uint8,
)  # fmt: skip
from wgtorch.exchange import Exchange
from wgtorch.facts import Facts
from wgtorch.index import Indexed
from wgtorch.integers import given_size, shape_of
from wgtorch.layout import Layout, repeated_dims
from wgtorch.methods import Methods, fill
from wgtorch.op import REGISTRY, Table
from wgtorch.parts import Parts
from wgtorch.scalar import Scalar
from wgtorch.storage import Storage, View
from wgtorch.strangers import Strangers


class Tensor(Facts, Exchange, Scalar, Parts, Differentiable, Indexed, Methods, Strangers):
    """An n-dimensional array on a device. `wgtorch.tensor(data)` makes one."""

    __slots__ = ("__dict__", "__weakref__", "_wants", "past")

    name: str | None = None

    new_from: Callable  # what a user's `Tensor(2, 3)` is; see legacy.py
    new_tensor: Callable  # see create.py

    def __init__(self, storage: Any = None, layout: Any = None, wants: Any = False, *more: Any):
        if type(layout) is not Layout:  # a user's own call: `Tensor(2, 3)`
            given = (storage, layout, None if wants is False else wants, *more)
            return self.new_from(self, tuple([a for a in given if a is not None]))
        self.storage, self.layout = storage, layout
        self._wants = wants  # PyTorch's requires_grad
        self.past: Any = None  # PyTorch's grad_fn

    def __len__(self) -> int:
        if not self.layout.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.layout.shape[0]

    def __repr__(self) -> str:
        return show.text(self)

    def __format__(self, spec: str) -> str:
        if self.layout.shape or self.is_meta or builtin_type(self) is not Tensor:
            return object.__format__(self, spec)
        return format(self.item(), spec)

    def explain(self) -> str:
        """The kernel that would compute this tensor, if it is still a promise; nothing runs."""
        return backend(self.device).explain(self)

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, View | int | float | complex | np.number | np.bool_):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a"
                f" {builtin_type(element)}."
            )
        return bool((self == element).any())

    # Moving and copying

    def over(self, storage: Storage, layout: Layout) -> Tensor:
        """A tensor without a past."""
        return Tensor(storage, layout)

    def snapshot(self) -> Tensor:
        """Detached, and deaf to later writes."""
        return made(self.storage.value, self.layout)

    def to(self, *args: Any, dtype: DType | None = None, device: Any = None, copy: bool = False,
           non_blocking: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
        """On another device, as another dtype, or like another tensor; itself if it is so."""
        for arg in args:
            if isinstance(arg, DType):
                dtype = arg
            elif isinstance(arg, Tensor):
                dtype, device = arg.dtype, arg.device
            elif isinstance(arg, str) and (arg in NAMES or arg in ALIASES):
                dtype = by_name(arg)
            elif isinstance(arg, bool):
                copy = copy or (arg and arg is args[-1] and len(args) > 2)
            elif isinstance(arg, builtin_type):
                dtype = asked(arg)
            elif arg is not None:
                device = arg
        out = self
        if dtype is not None and dtype is not out.dtype:
            out = cast(out, asked(dtype))
        if device is not None:
            place = Device(device)
            if place is not out.device:
                out = moved(out, place)
        return DOORS["copy"](out) if copy and out is self else out

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of its type, as `torch.FloatTensor`; or as another, by name, type or dtype."""
        if dtype is None:
            place = "" if self.is_cpu else f"{self.device.type}."
            return f"torch.{place}{self.dtype.short}Tensor"
        kind = getattr(dtype, "dtype", dtype)  # of a type such as torch.FloatTensor
        if isinstance(dtype, str):
            name = dtype.removeprefix("torch.").removeprefix(f"{self.device.type}.")
            kind = TYPE_NAMES.get(name) or NAMES.get(name)
            if kind is None:
                raise ValueError(f"invalid type: {dtype!r}")
        elif dtype in (float, int, bool):
            kind = asked(dtype)
        elif not isinstance(kind, DType):
            raise TypeError("dtype must be a type, str, or dtype object")
        return self.to(kind)

    def type_as(self, other: Tensor) -> Tensor:
        return self.to(other.dtype)

    def cpu(self) -> Tensor:
        return self.to("cpu")

    def webgpu(self, device: Any = "webgpu") -> Tensor:
        return self.to(device if device is not None else "webgpu")

    cuda = webgpu  # what code written for PyTorch says

    def pin_memory(self, device: Any = None) -> Tensor:
        return self  # staging memory is pinned where it helps; there is nothing to ask for

    def is_pinned(self) -> bool:
        return False

    def contiguous(self, memory_format: Any = None) -> Tensor:
        return self if self.layout.is_contiguous else DOORS["copy"](self)

    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy that passes gradients on."""
        return DOORS["copy"](self)

    def copy_(self, src: Tensor, non_blocking: bool = False) -> Tensor:
        """The elements of `src`, broadcast, cast and moved as needed."""
        if isinstance(src, int | float | complex | np.number):
            return self.fill_(src)
        if not isinstance(src, View):
            raise TypeError(
                f"copy_(): argument 'other' must be Tensor, not {builtin_type(src).__name__}"
            )
        return write(self, src, "copy_")

    def fill_(self, value: Any) -> Tensor:
        """`value` everywhere."""
        if isinstance(value, View) and value.layout.shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with"
                f" {len(value.layout.shape)} dimensions."
            )
        if isinstance(value, View):
            return write(self, value, "fill_")
        if self.layout.once is not self.layout:
            strided(self, self.layout.once).fill_(value)
        elif not is_put(self, ..., value):
            write(self, full(self.layout.shape, value, self.dtype, self.device), "fill_", True)
        return self

    def zero_(self) -> Tensor:
        return self.fill_(0)

    def new_full(self, size: Any, fill_value: Any, *, dtype: DType | None = None,
                 device: Any = None, requires_grad: bool = False,
                 layout: Any = None) -> Tensor:  # fmt: skip
        check_strided("new_full", layout)
        place = Device(device) if device is not None else self.device
        shape = shape_of("new_full", (size,))
        return full(shape, fill_value, dtype or self.dtype, place, requires_grad)

    def new_zeros(self, *size: Any, **facts: Any) -> Tensor:
        return self.new_full(given_size("new_zeros", size, facts), 0, **facts)

    def new_ones(self, *size: Any, **facts: Any) -> Tensor:
        return self.new_full(given_size("new_ones", size, facts), 1, **facts)

    new_empty = new_zeros

    def new_empty_strided(self, size: Any, stride: Any, *, dtype: DType | None = None,
                          device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
        """Elements of any value (0 here) under a size and strides, in elements."""
        layout = Layout.strided(tuple(size), tuple(stride), 0)
        memory = self.new_zeros(layout.extent, dtype=dtype, device=device)
        return memory.over(memory.storage, layout).requires_grad_(requires_grad)

    def view_as(self, other: Tensor) -> Tensor:
        return self.view(other.layout.shape)

    def reshape_as(self, other: Tensor) -> Tensor:
        return self.reshape(other.layout.shape)

    def expand_as(self, other: Tensor) -> Tensor:
        return self.expand(other.layout.shape)

    def as_strided(self, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
        """The storage through any sizes and strides, in elements."""
        offset = self.layout.offset if storage_offset is None else storage_offset
        layout = Layout.strided(tuple(size), tuple(stride), offset)
        if layout.extent > self.storage.value.numel:
            each = self.dtype.itemsize
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset},"
                f" and itemsize {each} requiring a storage size of {layout.extent * each} are out"
                f" of bounds for storage of size {self.storage.value.numel * each}"
            )
        return strided(self, layout)

    # Shapes

    def sum_to_size(self, *size: Any, **named: Any) -> Tensor:
        """What was repeated by broadcasting from `size`, added up."""
        shape = given_size("sum_to_size", size, named) if size or named else ()
        check_named("sum_to_size", named)
        return self.summed_to(shape)

    def summed_to(self, shape: tuple[int, ...]) -> Tensor:
        """`sum_to_size` of a shape that is known to be one."""
        if self.layout.shape == shape:
            # PyTorch sums a lone integer too, which makes it int64
            return self if shape or self.dtype.category > 1 else self.sum()
        dims = repeated_dims(self.layout.shape, shape)
        out = self.sum(dims, len(shape) == self.ndim) if dims else self
        return out if out.layout.shape == shape else out.reshape(shape)

    def restored(self, dim: tuple[int, ...], keepdim: bool) -> Tensor:
        """Put back, as size 1, the axes a reduction removed."""
        if keepdim or not dim:
            return self
        shape = list(self.layout.shape)
        for d in dim:
            shape.insert(d, 1)
        return self.reshape(tuple(shape))

    def __deepcopy__(self, memo: dict) -> Tensor:
        if self.past is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy"
                " protocol at the moment. If you were attempting to deepcopy a module, this may be"
                " because of a torch.nn.utils.weight_norm usage."
            )
        if id(self) in memo:
            return memo[id(self)]
        fresh = self.detach().clone()
        out = builtin_type(self)(fresh.storage, fresh.layout)
        out._wants = self._wants
        memo[id(self)] = out
        if self.grad is not None:
            out.grad = self.grad.__deepcopy__(memo)
        return out

    def __reduce_ex__(self, protocol: Any) -> tuple:
        if self.dtype.encoding is not None:
            facts = self.dtype, self.layout.shape, components_of(self.detach()), self._wants
            return rejoined, (builtin_type(self), *facts)
        array = backend(self.device).download(self.detach())
        state_ = (np.ascontiguousarray(array).tobytes(), self.layout.shape, self.dtype,
                  str(self.device), self._wants)  # fmt: skip
        return rebuilt, (builtin_type(self), *state_)


builtin_type = type
made = maker(Tensor)
TYPE_NAMES = NAMES | ALIASES | {f"{dtype.short}Tensor": dtype for dtype in ALL}


def rebuilt(kind: Any, data: bytes, shape: tuple, dtype: DType, device: str, wants: bool) -> Tensor:
    """What unpickling calls."""
    array = np.frombuffer(data, dtype.np).reshape(shape)
    value = backend(Device(device)).upload(array, dtype)
    return kind(Storage(value), Layout.contiguous(shape), wants)


def rejoined(kind: Any, dtype: DType, shape: tuple, parts: Any, wants: bool) -> Tensor:
    """What unpickling calls for a composed dtype."""
    return kind(joined(dtype, *parts).storage, Layout.contiguous(shape), wants)


def moved(x: Tensor, place: Device) -> Tensor:
    """On another device; the gradient travels back."""
    if place.level or x.device.level:
        x, place = between(x, place)
        if x.device is place:
            return x
    whole = x if x.is_whole else DOORS["copy"](x.detach())
    value = backend(x.device).send(whole.value, backend(place))
    out = Tensor(Storage(value), Layout.contiguous(x.layout.shape))
    if state.recording and x.requires_grad:
        out._wants, out.past = True, ToCopyBackward0(x)
    return out


def full(
    shape: tuple[int, ...], value: Any, dtype: DType | None, device: Device, wants: bool = False
) -> Tensor:
    """The same number everywhere; costs nothing before it is used."""
    if isinstance(value, View):
        value = value.item()  # type: ignore[attr-defined]
    if type(dtype) is not DType:
        dtype = result_kind(type(value)) if dtype is None else asked(dtype)
    value = fitting(value, dtype)
    if wants and dtype.category < 2:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    layout = Layout.contiguous(shape)
    home = backend(place_for(device, dtype))
    if hasattr(home, "check"):
        home.check(dtype, layout.numel)
    if layout.numel * dtype.itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    typed = FILL[dtype]
    return Tensor(Storage(home.elementwise(typed, (value,), {}, layout)), layout, wants)


FILL = Table(lambda dtype: REGISTRY["_fill"].at(dtype))  # type: ignore[attr-defined]
CASTS = {"bool": bool_, "byte": uint8, "char": int8, "short": int16, "int": int32, "long": int64,
         "half": float16, "bfloat16": bfloat16, "float": float32, "double": float64,
         "cfloat": complex64, "cdouble": complex128}  # fmt: skip


def casting(name: str, dtype: DType) -> Callable[..., Tensor]:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return cast(self, dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The same numbers as {dtype!r}; itself if they are."
    return method


for _name, _dtype in CASTS.items():
    setattr(Tensor, _name, casting(_name, _dtype))
for _name in ("expand_as", "reshape_as", "type_as", "view_as"):
    setattr(Tensor, _name, blaming(getattr(Tensor, _name), __name__, 0))
fill(Tensor)
