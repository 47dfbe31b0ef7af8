"""Queries: functions that ask something of tensors or shapes, and functional forms of methods."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, trunc
from typing import Any

from wgtorch import cpu, webgpu
from wgtorch.create import empty, wanting
from wgtorch.create import place as placed
from wgtorch.dispatch.doors import DOORS
from wgtorch.layout import Layout, broadcast
from wgtorch.lazy import Lazy
from wgtorch.size import Size
from wgtorch.storage import View
from wgtorch.storages import TypedStorage, UntypedStorage
from wgtorch.tensor import Tensor

MODULES = {"cpu": cpu, "webgpu": webgpu}
asyncio = Lazy("asyncio")  # a tenth of our own import


def asked(name: str, input: Any) -> Tensor:
    if not isinstance(input, View):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return input  # type: ignore[return-value]


# Of tensors


def numel(input: Tensor) -> int:
    """How many elements."""
    return asked("numel", input).layout.numel


def is_floating_point(input: Tensor) -> bool:
    return asked("is_floating_point", input).dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    return asked("is_complex", input).dtype.is_complex


def is_signed(input: Tensor) -> bool:
    return asked("is_signed", input).dtype.is_signed


def is_inference(input: Tensor) -> bool:
    return asked("is_inference", input).is_inference()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    return asked("is_same_size", input).layout.shape == other.layout.shape


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not 0; waits for it."""
    return bool(asked("is_nonzero", input))


def is_storage(obj: Any) -> bool:
    return isinstance(obj, TypedStorage | UntypedStorage)


def typename(obj: Any) -> str:
    """The type of a tensor as `Tensor.type` says it, of anything else its name."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    module = "" if kind.__module__ in ("builtins", "__builtin__") else kind.__module__ + "."
    return module.replace("wgtorch.", "torch.") + kind.__qualname__


def get_device_module(device: Any = None) -> Any:
    """The module about a device: `wgtorch.webgpu` or `wgtorch.cpu`."""
    kind = placed(device).type
    if kind not in MODULES:
        raise RuntimeError(f"get_device_module(): there is no module about {kind!r} devices")
    return MODULES[kind]


# Methods as functions


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that passes gradients on."""
    return asked("clone", input).clone()


def contiguous(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """In memory in the order of its indices: itself, or a copy."""
    return asked("contiguous", input).contiguous()


def detach(input: Tensor) -> Tensor:
    """The same memory without a past."""
    return asked("detach", input).detach()


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    return asked("expand_as", input).expand_as(other)


async def masked_select_async(input: Tensor, mask: Tensor) -> Tensor:
    """`masked_select`, awaited: what counts the elements waits in another thread."""
    return await asyncio.to_thread(DOORS["masked_select"], input, mask)


async def multinomial_async(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    """`multinomial`, awaited: what is wrong with the weights is raised here, on every device."""

    def drawn() -> Tensor:
        result = DOORS["multinomial"](input, num_samples, replacement, generator=generator)
        result.storage.value.device.backend.synchronize()
        return result

    return await asyncio.to_thread(drawn)


def fill_(input: Tensor, value: Any) -> Tensor:
    """`value` everywhere, in place."""
    return asked("fill_", input).fill_(value)


def zero_(input: Tensor) -> Tensor:
    return asked("zero_", input).fill_(0)


def detach_(input: Tensor) -> Tensor:
    """Forgets, in place, where the tensor came from."""
    return asked("detach_", input).detach_()


def get_device(input: Tensor) -> int:
    """The number of a tensor's device; -1 for the cpu."""
    return asked("get_device", input).get_device()


def empty_strided(size: Any, stride: Any, *, dtype: Any = None, device: Any = None,
                  requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Elements of any value (0 here) under a size and strides, in elements."""
    layout = Layout.strided(tuple(size), tuple(stride), 0)
    memory = empty(layout.extent, dtype=dtype, device=device)
    return wanting(memory.over(memory.storage, layout), requires_grad)


def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, device: Any = None,
                   requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Elements of any value (0 here) that lie in memory in the order of the dimensions listed."""
    order, rank = [int(d) for d in physical_layout], len(tuple(size))
    if len(order) != rank:
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e."
            f" len(size) = {rank} is not equal to len(physical_layout) = {len(order)}"
        )
    for place, d in enumerate(order):
        if not 0 <= d < rank:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {rank - 1}, but got {d} at"
                f" index {place}).  NB: negative dims not currently supported; file an issue if you"
                " want it."
            )
        if d in order[:place]:
            raise RuntimeError("Duplicate dim not allowed")
    memory = empty([size[d] for d in order], dtype=dtype, device=device)
    return wanting(memory.permute([order.index(d) for d in range(len(order))]), requires_grad)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    name: str | None = None,
    recompile_limit: int | None = None,
) -> Any:
    """`model` itself: chains of ops become one kernel without it. Also a decorator."""
    return (lambda function: function) if model is None else model


# Numbers


def sym_float(a: Any) -> float:
    """A number, or a tensor of one, as a float."""
    return float(a)


def sym_int(a: Any) -> int:
    """The same as an int, cut toward zero."""
    value = a.item() if isinstance(a, View) else a  # type: ignore[attr-defined]
    if isinstance(value, float) and not isfinite(value):
        raise OverflowError(f"sym_int: {value} is no integer")
    return trunc(value)


def sym_not(a: Any) -> bool:
    return not a


# Shapes


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these would broadcast to; an int counts as a shape of one size."""
    result: list[int] = []
    for place, given in enumerate(shapes):
        shape = (given,) if isinstance(given, int) else tuple(given)
        if any(size < 0 for size in shape):
            raise ValueError("Attempting to broadcast a dimension with negative length!")
        result = [1] * (len(shape) - len(result)) + result
        for d in range(-1, -1 - len(shape), -1):
            if shape[d] not in (1, result[d]) and result[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[d]} at {d}! Mismatching"
                    f" argument at index {place} had {shape}; but expected shape should be"
                    f" broadcastable to {result}"
                )
            if result[d] == 1:
                result[d] = shape[d]
    return Size(result)


broadcastShapes = broadcast_shapes


def can_broadcast_to(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether a tensor of the one shape can be expanded to the other."""
    pairs = zip(reversed(tuple(shape)), reversed(tuple(target)), strict=False)
    return len(tuple(shape)) <= len(tuple(target)) and all(a in (1, b) for a, b in pairs)


def needs_broadcast(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two shapes differ, so that one of them has to be expanded."""
    return tuple(shape) != tuple(other) and broadcast(tuple(shape), tuple(other)) is not None
