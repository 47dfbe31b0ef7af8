"""Elements in another order, or repeated: flips, rolls, repetitions, margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import int32, int64
from wgtorch.errors import DimOutOfRangeError
from wgtorch.integers import integers
from wgtorch.layout import Layout, wrap_dim
from wgtorch.op import Sizes, ViewOp, composite, declare
from wgtorch.ops.arguments import or_named
from wgtorch.ops.batched import each_sample, is_batched
from wgtorch.ops.samples import normal
from wgtorch.storage import View

# In another order


def reversed_layout(layout: Layout, dims: Sizes) -> Layout:
    """Read backwards along `dims`: only a copy may see this, PyTorch has no negative strides."""
    strides, offset = list(layout.strides), layout.offset
    for d in [d for d in dims if layout.shape[d] > 1]:
        offset += (layout.shape[d] - 1) * strides[d]
        strides[d] = -strides[d]
    return Layout.of(layout.shape, tuple(strides), offset)


@declare(
    ViewOp,
    layout=reversed_layout,
    vjp={"input": lambda grad, dims: grad.flip(dims)},
    torch="none",
)
def _flip(input, dims: Sizes):
    "`flip` without the copy."
    return np.flip(input, dims)


@composite(
    front=or_named("dims"),
    samples=lambda rng: [
        ((normal(rng, 3, 4), (0,)), {}),
        ((normal(rng, 2, 3, 4), (0, -1)), {}),
        ((normal(rng, 4, 3).T, 1), {}),
    ],
)
def flip(input, *dims: Any):
    "The elements in reverse order along `dims`."
    listed = dims[0] if len(dims) == 1 and isinstance(dims[0], list | tuple) else dims
    if not dims:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    wrapped = [wrap_dim(d, input.ndim) for d in listed]
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    if not input.ndim or not wrapped:
        return input.clone()
    return input._flip(tuple(wrapped)).clone()


@composite(samples=lambda rng: [((normal(rng, 3, 4),), {})])
def fliplr(input):
    "Flipped along dimension 1."
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return input.flip((1,))


@composite(samples=lambda rng: [((normal(rng, 3, 4),), {})])
def flipud(input):
    "Flipped along dimension 0."
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return input.flip((0,))


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 4), 5), {}),
        ((normal(rng, 3, 4), -1, 0), {}),
        ((normal(rng, 4, 3).T, (1, 2), (0, -1)), {}),
    ]
)
def roll(input, shifts, dims=None):
    "Shifted along `dims`, what leaves at one end entering at the other; flat without `dims`."
    shifts = integers("roll", "shifts", shifts, 1)
    dims = () if dims is None else integers("roll", "dims", dims, 2)
    shifts = (shifts,) if isinstance(shifts, int) else shifts
    dims = (dims,) if isinstance(dims, int) else dims
    if not dims and len(shifts) == 1:
        return input.reshape((-1,)).roll(shifts, (0,)).reshape(input.layout.shape)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not input.ndim and dims:
        raise DimOutOfRangeError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    if len(shifts) != len(dims):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    out = input
    for shift, d in zip(shifts, dims, strict=True):
        d = wrap_dim(d, input.ndim)
        size = input.layout.shape[d] if input.ndim else 1
        if size > 1 and shift % size:
            cut = size - shift % size
            out = out._cat([out._slice(d, cut, size), out._slice(d, 0, cut)], d)
    return input.clone() if out is input else out


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 4),), {}),
        ((normal(rng, 3, 4), 2), {}),
        ((normal(rng, 2, 3, 4), -1, (1, 2)), {}),
        ((normal(rng, 3, 4), 4), {}),
    ]
)
def rot90(input, k: int = 1, dims=(0, 1)):
    "Turned by `k` quarters of a circle, in the plane of `dims`, from the first to the second."
    dims = tuple(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = (wrap_dim(d, input.ndim) for d in dims)
    if a == b:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    k %= 4
    if k == 2:
        return input.flip((a, b))
    if k:
        return input.flip((b if k == 1 else a,)).transpose(a, b)
    return input.clone()


# Repeated


def counts_of(op: str, name: str, given: tuple) -> tuple[int, ...]:
    """Ints that were given one by one, or as one argument."""
    if not given:
        raise TypeError(f'{op}() missing 1 required positional arguments: "{name}"')
    found = integers(op, name, given[0] if len(given) == 1 else given, 1)
    return found if isinstance(found, tuple) else (found,)


@composite(
    front=or_named("repeats"),
    samples=lambda rng: [
        ((normal(rng, 3, 4), (2, 3)), {}),
        ((normal(rng, 3), (2, 1, 2)), {}),
        ((normal(rng, 4, 3).T, (1, 2)), {}),
    ],
    torch="Tensor.repeat",
)
def repeat(input, *repeats: Any):
    "The tensor repeated along each dimension; more `repeats` than dimensions add some in front."
    counts = counts_of("repeat", "repeats", repeats)
    new = len(counts) - input.ndim
    if new < 0:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of"
            " tensor"
        )
    shape = (1,) * new + tuple(input.layout.shape)
    total = tuple(n * size for n, size in zip(counts, shape, strict=True))
    if any(n < 0 for n in counts):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(total)}: {list(total)}"
        )
    between = sum(((1, size) for size in shape), ())
    wanted = sum(((n, size) for n, size in zip(counts, shape, strict=True)), ())
    out = input.reshape(between).expand(wanted)
    return out.clone().reshape(total)


@composite(
    front=or_named("dims"),
    samples=lambda rng: [((normal(rng, 3, 4), (2,)), {}), ((normal(rng, 3), (2, 2)), {})],
)
def tile(input, *dims: Any):
    "As `repeat`; fewer `dims` than dimensions leave those in front as they are."
    counts = counts_of("tile", "dims", dims)
    return input.repeat((1,) * (input.ndim - len(counts)) + counts)


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 4), 2), {}),
        ((normal(rng, 3, 4), 3, 1), {}),
        ((normal(rng, 3, 4), np.array([2, 0, 1]), 0), {}),
        ((np.array([2, 0, 1]),), {}),
    ]
)
def repeat_interleave(input, repeats=None, dim: int | None = None, *,
                      output_size: int | None = None):  # fmt: skip
    """Each slice along `dim` (each element, without one) repeated, by a number or a vector of them.

    With a vector alone: the index that does so. A vector of repeats is read on the host.
    """
    if repeats is None:
        return repeated_places(input, input.device, output_size)
    if dim is None:
        input, dim = input.reshape((-1,)), 0
    dim = wrap_dim(dim, input.ndim)
    if isinstance(repeats, View):
        return by_vector(input, repeats, dim, output_size)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape = input.layout.shape
    wanted = (*shape[: dim + 1], repeats, *shape[dim + 1 :])
    out = input.unsqueeze(dim + 1).expand(wanted).clone()
    return out.reshape((*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]))


def by_vector(input: Any, repeats: Any, dim: int, output_size: int | None) -> Any:
    size = input.layout.shape[dim]
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.ndim == 0 or repeats.numel() == 1:
        repeats = repeats.reshape((1,)).expand((size,))
    if repeats.numel() != size:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) ="
            f" {repeats.numel()} and input.size({dim}) = {size}"
        )
    return input.index_select(dim, repeated_places(repeats, input.device, output_size))


def repeated_places(repeats: Any, device: Any, output_size: int | None) -> Any:
    if repeats.dtype not in (int64, int32):
        raise NotImplementedError(
            f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.short}'"
        )
    if is_batched(repeats):
        again = lambda n: repeated_places(n, n.device, output_size)  # noqa: E731
        return each_sample("repeat_interleave", again, repeats).to(device)
    counts = np.asarray(repeats.tolist(), np.int64)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    places = np.repeat(np.arange(counts.size), counts)
    if output_size is not None and output_size != places.size:
        raise RuntimeError("allocated size does not match required size")
    return repeats.new_tensor(places, dtype=int64, device=device)


# With margins


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 4), (1, 2)), {}),
        ((normal(rng, 2, 3, 4), (-1, 2, 0, 1)), {"value": 1.5}),
        ((normal(rng, 4, 3).T, (1, 1, 1, 1)), {}),
    ],
    method=True,
)
def constant_pad_nd(input, pad, value: float = 0):
    "Elements of `value` added before and after (negative: taken); pairs, from the last dimension."
    starts, shape = [0] * input.ndim, list(input.layout.shape)
    for k in range(len(pad) // 2):
        d, before, after = input.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        left = shape[d] + min(before, 0) + min(after, 0)
        shape[d] += before + after
        if shape[d] < 0 or left < 0:
            raise RuntimeError(
                f"The input size {input.shape[d]}, plus negative padding {before} and {after},"
                f" resulted in a negative output size, which is invalid. Check dimension {d} of"
                f" your input."
            )
        starts[d] = max(before, 0)
        if left < input.layout.shape[d]:
            input = input._slice(d, max(-before, 0), max(-before, 0) + left)
    if tuple(shape) == input.layout.shape:
        return input.clone()
    return input.new_full(shape, value)._inset([input], (tuple(starts),))


# Through strides


@composite(method=False, samples=None)
def as_strided(input, size, stride, storage_offset: int | None = None):
    "The memory of the input through any sizes and strides, in elements."
    return input.as_strided(size, stride, storage_offset)


@composite(
    samples=lambda rng: [
        ((normal(rng, 4, 3), normal(rng, 2, 2), (2, 2), (3, 1)), {"storage_offset": 2})
    ]
)
def as_strided_scatter(input, src, size, stride, storage_offset: int | None = None):
    "A contiguous copy of the input, with `src` in the place of `as_strided(size, stride, ...)`."
    out = input.clone()
    place = out.as_strided(size, stride, storage_offset)
    if src.layout.shape != place.layout.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)},"
            f" slice size = {list(place.shape)}"
        )
    place.copy_(src)
    return out
