"""Random tensors, and the generators that they come from.

Numbers depend on a seed and on how much was drawn before, and on nothing else: the same program
draws the same numbers on every device, each of which has a default generator of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from wgtorch import generator as sources
from wgtorch.autograd.checkpoint import DRAWS
from wgtorch.autograd.transforms.level import levels, place_of_random
from wgtorch.backend import backend
from wgtorch.constants import check_named
from wgtorch.create import place, size_of, tensor, wanting
from wgtorch.device import Device
from wgtorch.dispatch.blame import blaming
from wgtorch.dispatch.write import into
from wgtorch.dtype import (
    DType,
    asked,
    bfloat16,
    bool_,
    float16,
    float64,
    get_default_dtype,
    int64,
    uint8,
)
from wgtorch.integers import integer
from wgtorch.layout import Layout, whole
from wgtorch.op import REGISTRY, Draw
from wgtorch.ops.noise import integers_below
from wgtorch.ops.requirements import require
from wgtorch.storage import Storage, View
from wgtorch.tensor import Tensor
from wgtorch.tensor import full as filled

# Generators and their state


class Generator(sources.Source):
    """A source of random numbers of its own, for `generator=` arguments."""

    def get_state(self) -> Tensor:
        """The seed and the offset, as 16 bytes."""
        return tensor(np.array(self.state, np.uint64).view(np.uint8))

    def set_state(self, new_state: Tensor) -> Generator:
        """Goes on from where `get_state` was asked; returns itself."""
        if not isinstance(new_state, View) or new_state.dtype is not uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        raw = np.ascontiguousarray(new_state.cpu().numpy())  # type: ignore[attr-defined]
        if raw.size != 16:
            raise RuntimeError(f"RNG state is wrong size: expected 16 bytes, found {raw.size}")
        seed, offset = raw.reshape(-1).view(np.uint64).tolist()
        self.state = seed, offset
        return self

    def clone_state(self) -> Generator:
        """Another generator that draws the same from here on."""
        other = Generator(self.device)
        other.state = self.state
        return other


sources.kind = Generator


class Everything:
    """The default generators of all devices as one, for who repeats a computation."""

    def get_state(self) -> Any:
        states = {device: source.state for device, source in sources.sources.items()}
        return sources.common_seed, states

    def set_state(self, state: Any) -> None:
        sources.common_seed, states = state
        for device, source in sources.sources.items():
            source.state = states.get(device, (sources.common_seed, 0))


DRAWS.append(Everything())
default_generator: Any = sources.of(Device("cpu"))


def manual_seed(seed: int) -> Generator:
    """Every device's default generator starts anew from `seed`; returns the cpu's."""
    sources.seed_all(seed)
    return default_generator


def seed() -> int:
    """Every device's default generator starts anew from a seed that nobody can guess."""
    return sources.seed_all(default_generator.seed())


def initial_seed() -> int:
    """The seed that the cpu's default generator started from."""
    return default_generator.initial_seed()


def get_rng_state(device: Any = "cpu") -> Tensor:
    """The state of a device's default generator, as bytes."""
    return sources.of(Device(device)).get_state()  # type: ignore[attr-defined]


def set_rng_state(new_state: Tensor, device: Any = "cpu") -> None:
    sources.of(Device(device)).set_state(new_state)  # type: ignore[attr-defined]


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **names: Any) -> Iterator[None]:
    """After the block, the default generators are where they were before, on all devices."""
    del devices, names
    everything = Everything()
    before = everything.get_state() if enabled else None
    try:
        yield
    finally:
        if enabled:
            everything.set_state(before)


# Drawing


OPS = {name: op for name, op in REGISTRY.items() if isinstance(op, Draw)}


def drawn(kind: str, shape: tuple[int, ...], device: Device, generator: Any = None) -> Tensor:
    """Numbers of an op that draws: `_draw_uniform`, `_draw_normal` ..."""
    if generator is not None and not isinstance(generator, sources.Source):
        raise TypeError(
            f"argument 'generator' must be torch.Generator, not {type(generator).__name__}"
        )
    layout = Layout.contiguous(shape)
    if levels.stack:
        device = place_of_random(device)
    seed, offset = sources.of(device, generator).take(layout.numel)
    return Tensor(Storage(backend(device).draw(OPS[kind], seed, offset, layout)), layout)


GRAINS = {float16: 2.0**11, bfloat16: 2.0**8}  # so many numbers from 0 to 1, none rounded to 1


def uniform(shape: tuple[int, ...], device: Device, dtype: DType, generator: Any = None) -> Tensor:
    """In [0, 1), with as many bits as the dtype holds (float64: 48)."""
    if not dtype.is_floating_point:
        raise NotImplementedError(f"\"check_uniform_bounds\" not implemented for '{dtype.short}'")
    numbers = drawn("_draw_uniform", shape, device, generator)
    if dtype in GRAINS:
        grain = GRAINS[dtype]
        return ((numbers * grain).floor() * (1 / grain)).to(dtype)
    if dtype is float64:
        low = drawn("_draw_uniform", shape, device, generator)
        return numbers.to(dtype) + low.to(dtype) * 2.0**-24
    return numbers


def normals(shape: tuple[int, ...], device: Device, dtype: DType, generator: Any = None) -> Tensor:
    if not dtype.is_floating_point:
        raise NotImplementedError(f"\"normal_kernel_cpu\" not implemented for '{dtype.short}'")
    return drawn("_draw_normal", shape, device, generator).to(dtype)


C_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int",
           "int64": "long", "bool": "bool"}  # fmt: skip


def integers(low: int, high: int, shape: tuple[int, ...], device: Device, dtype: DType,
             generator: Any = None) -> Tensor:  # fmt: skip
    """Whole numbers from `low` to `high` (excluded)."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if not dtype.is_floating_point:
        least, most = bounds(dtype)
        for name, value in (("from", low), ("to - 1", high - 1)):
            if not least <= value <= most:
                raise RuntimeError(f"{name} is out of bounds for {C_NAMES[dtype.name]}")
    like = filled((), 0, int64, device)
    numbers = integers_below(like, high - low, shape, generator)
    return (numbers + low if low else numbers).to(dtype)


def bounds(dtype: DType) -> tuple[int, int]:
    """The least and the most that an integer dtype holds."""
    if dtype is bool_:
        return 0, 1
    if dtype.is_complex:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    limits = np.iinfo(dtype.np)
    return int(limits.min), int(limits.max)


# Tensors of random numbers


def finished(result: Tensor, out: Tensor | None, requires_grad: bool, name: str) -> Tensor:
    return wanting(result if out is None else into(out, result, name, False), requires_grad)


def rand(*size: Any, generator: Generator | None = None, out: Tensor | None = None,
         dtype: DType | None = None, device: Any = None, requires_grad: bool = False,
         **named: Any) -> Tensor:  # fmt: skip
    """Uniform in [0, 1); of complex numbers both parts."""
    shape, kind = size_of("rand", size, named), asked(dtype or kind_of(out))
    result = parts(uniform, shape, where(device, out), kind, generator)
    return finished(result, out, requires_grad, "rand")


def randn(*size: Any, generator: Generator | None = None, out: Tensor | None = None,
          dtype: DType | None = None, device: Any = None, requires_grad: bool = False,
          **named: Any) -> Tensor:  # fmt: skip
    """Normal, of mean 0 and variance 1."""
    shape, kind = size_of("randn", size, named), asked(dtype or kind_of(out))
    result = parts(normals, shape, where(device, out), kind, generator)
    if kind.is_complex:
        result = result * 0.5**0.5  # both parts together have variance 1
    return finished(result, out, requires_grad, "randn")


def parts(draw: Any, shape: tuple[int, ...], device: Device, kind: DType, generator: Any) -> Tensor:
    """Complex numbers draw each part by itself."""
    if not kind.is_complex:
        return draw(shape, device, kind, generator)
    both = draw((*shape, 2), device, kind.to_real(), generator)
    return both.view_as_complex()


def kind_of(out: Tensor | None) -> DType:
    return get_default_dtype() if out is None else out.dtype


def where(device: Any, out: Tensor | None) -> Device:
    return out.device if out is not None and device is None else place(device)


def randint(*args: Any, low: int | None = None, high: int | None = None, size: Any = None,
            generator: Generator | None = None, out: Tensor | None = None,
            dtype: DType | None = None, device: Any = None, requires_grad: bool = False,
            **named: Any) -> Tensor:  # fmt: skip
    """`randint([low=0,] high, size)`: whole numbers from low to high (excluded), as int64."""
    rest = list(args)
    if size is None:
        if not rest or isinstance(rest[-1], int):
            raise TypeError("randint() missing 1 required positional argument: 'size'")
        size = rest.pop()
    low, high = ends("randint", rest, low, high)
    kind = asked(dtype or (int64 if out is None else out.dtype))
    shape = size_of("randint", (size,), named)
    result = integers(low, high, shape, where(device, out), kind, generator)
    return finished(result, out, requires_grad, "randint")


def ends(name: str, args: list, low: Any, high: Any) -> tuple[int, int]:
    """low and high, of which the first may be left out."""
    if len(args) > 2:
        raise TypeError(f"{name}() got too many positional arguments")
    if len(args) == 2:
        low, high = args
    elif args and high is None:
        high = args[0]
    elif args:
        low = args[0]
    if high is None:
        raise TypeError(f"{name}() missing 1 required positional argument: 'high'")
    return integer(name, "low", low or 0), integer(name, "high", high)


def randperm(n: int, *, generator: Generator | None = None, out: Tensor | None = None,
             dtype: DType = int64, device: Any = None, requires_grad: bool = False,
             **named: Any) -> Tensor:  # fmt: skip
    """The numbers from 0 to n - 1 in random order."""
    check_named("randperm", named)
    (n,) = whole((n,))
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if not dtype.is_floating_point and n and n - 1 > bounds(dtype)[1]:
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
    target = where(device, out)
    order = drawn("_draw_words", (n,), target, generator).argsort(stable=True)  # type: ignore[attr-defined]
    return finished(order.to(dtype), out, requires_grad, "randperm")


def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None,
              device: Any = None, requires_grad: bool = False, memory_format: Any = None,
              **named: Any) -> Tensor:  # fmt: skip
    """As `rand`, with the shape, dtype and device of `input`."""
    return rand(input.layout.shape, generator=generator, dtype=dtype or input.dtype,
                device=device or input.device, requires_grad=requires_grad, **named)  # fmt: skip


def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None,
               device: Any = None, requires_grad: bool = False, memory_format: Any = None,
               **named: Any) -> Tensor:  # fmt: skip
    """As `randn`, with the shape, dtype and device of `input`."""
    return randn(input.layout.shape, generator=generator, dtype=dtype or input.dtype,
                 device=device or input.device, requires_grad=requires_grad, **named)  # fmt: skip


def randint_like(input: Tensor, *args: Any, low: int | None = None, high: int | None = None,
                 dtype: DType | None = None, device: Any = None,
                 **named: Any) -> Tensor:  # fmt: skip
    """As `randint`, with the shape, dtype and device of `input`."""
    low, high = ends("randint_like", list(args), low, high)
    return randint(low, high, input.layout.shape, dtype=dtype or input.dtype,
                   device=device or input.device, **named)  # fmt: skip


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
           out: Tensor | None = None, dtype: DType | None = None, device: Any = None,
           requires_grad: bool = False, **named: Any) -> Tensor:  # fmt: skip
    """Normal numbers of a mean and a deviation each, or of one for all and a `size`."""
    checked_deviation(std)
    tensors = [t.detach() for t in (mean, std) if isinstance(t, View)]  # type: ignore[attr-defined]
    if size is not None:
        shape, kind = size_of("normal", (size,), named), asked(dtype or kind_of(out))
        target = where(device, out)
    elif not tensors:
        raise TypeError("normal() missing 1 required positional argument: 'size'")
    else:
        both = sum(tensors[1:], tensors[0])
        shape, kind, target = tuple(both.shape), tensors[0].dtype, both.device
    mean, std = (t.detach() if isinstance(t, View) else t for t in (mean, std))  # type: ignore[attr-defined]
    result = (normals(shape, target, kind, generator) * std + mean).to(kind)
    return finished(result, out, requires_grad, "normal")


def checked_deviation(std: Any) -> None:
    if not isinstance(std, View):
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    else:
        require(std.detach() >= 0, "normal expects all elements of std >= 0.0")  # type: ignore[attr-defined]


for _name in ("rand_like", "randn_like", "randint_like"):
    globals()[_name] = blaming(globals()[_name], __name__)
