"""Tensors out of nothing, or out of what Python and numpy have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wgtorch import dtype as dtypes  # type: ignore[no-redef]
from wgtorch.arrays import as_array, check_fits, real_parts
from wgtorch.autograd.transforms.encoded import place_for
from wgtorch.backend import backend
from wgtorch.constants import check_named, check_strided
from wgtorch.device import DEFAULT, Device
from wgtorch.dispatch.write import into
from wgtorch.dtype import DType, result_kind
from wgtorch.errors import with_room
from wgtorch.integers import given_size, shape_of
from wgtorch.layout import Layout
from wgtorch.storage import Storage, View
from wgtorch.tensor import Tensor
from wgtorch.tensor import full as filled


def get_default_device() -> Device:
    """Where tensors are made when nothing else is said."""
    return DEFAULT.device or Device("cpu")


def set_default_device(device: Any) -> None:
    """That of this thread; `None` means the cpu again."""
    DEFAULT.device = None if device is None else Device(device)


def place(device: Any) -> Device:
    return get_default_device() if device is None else Device(device)


def tensor(data: Any, *, dtype: DType | None = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A new tensor with a copy of `data`: a number, nested sequences, numpy, or a tensor."""
    if isinstance(data, Tensor):
        out = data.detach().clone().to(dtype=dtype, device=device)
        return wanting(out, requires_grad)
    array, kind = as_array(data)
    dtype = kind if dtype is None else dtypes.asked(dtype)
    given = isinstance(data, np.ndarray)
    if kind.is_complex and not dtype.is_complex and dtype.category and not given:
        array = np.asarray(real_parts(array))
    if dtype is not kind and dtype.category == 1 and array.size:
        check_fits(array, dtype, given)
    return made(array, dtype, place(device), requires_grad)


def new_tensor(self: Tensor, data: Any, *, dtype: DType | None = None, device: Any = None,
               requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A copy of `data`; of the dtype and on the device of this tensor, unless others are given."""
    dtype, device = self.dtype if dtype is None else dtype, device or self.device
    return tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


Tensor.new_tensor = new_tensor


def made(array: np.ndarray, dtype: DType, device: Device, requires_grad: bool) -> Tensor:
    dtype = dtypes.asked(dtype)
    value = backend(place_for(device, dtype)).upload(array, dtype)
    return wanting(Tensor(Storage(value), Layout.contiguous(array.shape)), requires_grad)


def wanting(x: Tensor, requires_grad: bool) -> Tensor:
    return x.requires_grad_(True) if requires_grad else x


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor, without a copy where that can be."""
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if isinstance(data, np.ndarray) and data.flags.writeable:
        return from_numpy(data).to(dtype=dtype, device=place(device))
    return tensor(data, dtype=dtype, device=device)


def asarray(obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """As `as_tensor`; `copy=True` always copies."""
    out = as_tensor(obj, dtype, device)
    return wanting(out.clone() if copy else out, requires_grad)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A cpu tensor on the array's own memory: writes on either side show on the other."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtype = dtypes.from_numpy(ndarray.dtype)
    size = ndarray.itemsize
    strides = tuple(s // size for s in ndarray.strides)
    if any(s < 0 for s in strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative"
            " strides are not currently supported. (You can probably work around this by making a"
            " copy of your array  with array.copy().)"
        )
    layout = Layout.of(tuple(ndarray.shape), strides, 0)
    flat = np.lib.stride_tricks.as_strided(ndarray, (layout.extent,), (size,))
    storage = Storage(backend(Device("cpu")).adopt(flat, dtype))  # type: ignore[attr-defined]
    storage.shared = True
    return Tensor(storage, layout)


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0,
               requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A 1-d cpu tensor on a buffer's memory."""
    if not len(memoryview(buffer)) or not count:
        raise ValueError(
            f"both buffer length ({len(memoryview(buffer))}) and count ({count}) must not be 0"
        )
    array = np.frombuffer(buffer, dtype.np, count, offset)
    return wanting(from_numpy(array), requires_grad)


def filling(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`make` with an argument `out`: a tensor that takes the result, and says dtype and device."""

    @wraps(make)
    @with_room
    def call(*args: Any, out: Tensor | None = None, **facts: Any) -> Tensor:
        if "layout" in facts:
            check_strided(make.__name__, facts.pop("layout"))
        if out is None:
            return make(*args, **facts)
        if not isinstance(out, View):
            raise TypeError(
                f"{make.__name__}(): argument 'out' must be Tensor, not {type(out).__name__}"
            )
        for name in ("dtype", "device"):
            have, asked = getattr(out, name), facts.get(name)
            if asked is not None and (Device(asked) if name == "device" else asked) is not have:
                asked, have = (getattr(x, "short", x) for x in (asked, have))
                raise RuntimeError(
                    f"{name} {asked} does not match {name} of out parameter ({have})"
                )
            facts[name] = have
        wants = facts.pop("requires_grad", False)
        return wanting(into(out, make(*args, **facts), make.__name__, False), wants)

    known = inspect.signature(make)
    last = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None,
                             annotation="Tensor | None")  # fmt: skip
    named = [p for p in known.parameters.values() if p.kind is not p.VAR_KEYWORD]
    rest = [p for p in known.parameters.values() if p.kind is p.VAR_KEYWORD]
    call.__signature__ = known.replace(parameters=[*named, last, *rest])  # type: ignore[attr-defined]
    return call


# The same number everywhere


@filling
def full(size: Any, fill_value: Any, *, dtype: DType | None = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Every element `fill_value`, whose type gives the dtype where none is given."""
    if isinstance(size, int):
        raise TypeError("full(): argument 'size' (position 1) must be tuple of ints, not int")
    return filled(shape_of("full", (size,)), fill_value, dtype, place(device), requires_grad)


@filling
def zeros(*size: Any, dtype: DType | None = None, device: Any = None,
          requires_grad: bool = False, **named: Any) -> Tensor:  # fmt: skip
    """Every element 0."""
    return constant("zeros", 0, size, named, dtype, device, requires_grad)


@filling
def ones(*size: Any, dtype: DType | None = None, device: Any = None,
         requires_grad: bool = False, **named: Any) -> Tensor:  # fmt: skip
    """Every element 1."""
    return constant("ones", 1, size, named, dtype, device, requires_grad)


@filling
def empty(*size: Any, dtype: DType | None = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
          **named: Any) -> Tensor:  # fmt: skip
    """Elements that nobody promised anything about; here they are 0."""
    return constant("empty", 0, size, named, dtype, device, requires_grad)


def size_of(name: str, size: tuple, named: dict[str, Any]) -> tuple[int, ...]:
    """The size that a factory was given, and nothing else by a name it does not know."""
    shape = given_size(name, size, named)
    check_named(name, named)
    return shape


def constant(name, value, size, named, dtype, device, requires_grad) -> Tensor:
    shape = size_of(name, size, named)
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    return filled(shape, value, kind, place(device), requires_grad)


def full_like(input: Tensor, fill_value: Any, *, dtype: DType | None = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = None,
              layout: Any = None) -> Tensor:  # fmt: skip
    """As `full`, with the shape, dtype and device of `input`."""
    if not isinstance(input, View):
        raise TypeError(f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    check_strided("full_like", layout)
    where = Device(device) if device is not None else input.device
    return filled(input.layout.shape, fill_value, dtype or input.dtype, where, requires_grad)


def zeros_like(input: Tensor, **facts: Any) -> Tensor:
    return full_like(input, 0, **facts)


def ones_like(input: Tensor, **facts: Any) -> Tensor:
    return full_like(input, 1, **facts)


def empty_like(input: Tensor, **facts: Any) -> Tensor:
    return full_like(input, 0, **facts)


@filling
def eye(n: int, m: int | None = None, *, dtype: DType | None = None, device: Any = None,
        requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Ones on the diagonal, zeros elsewhere."""
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    kind = dtype or dtypes.get_default_dtype()
    return made(np.eye(n, m if m is not None else n), kind, place(device), requires_grad)


def scalar_tensor(s: Any, *, dtype: DType | None = None, device: Any = None,
                  requires_grad: bool = False) -> Tensor:  # fmt: skip
    kind = dtype or dtypes.get_default_dtype()
    return filled((), s, kind, place(device), requires_grad)


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype that an op on the two would compute in."""
    for given in (tensor1, tensor2):
        if not isinstance(given, View | bool | int | float | complex | np.number | np.bool_):
            raise TypeError(
                f"result_type(): arguments must be Tensor or Number, not {type(given).__name__}"
            )
    return result_kind(*[_kind(t) for t in (tensor1, tensor2)])


def _kind(value: Any) -> Any:
    if not isinstance(value, View):
        return type(value)
    return value.dtype if value.layout.shape else value.dtype.zero_dim


def is_tensor(obj: Any) -> bool:
    return isinstance(obj, Tensor)
