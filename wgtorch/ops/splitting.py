"""Tensors taken apart into views: into pieces of a dimension, or layer by layer."""

from __future__ import annotations

from typing import Any

from wgtorch.integers import element, integers
from wgtorch.layout import wrap_dim, wrap_real_dim
from wgtorch.op import composite
from wgtorch.ops.samples import normal
from wgtorch.storage import View


def pieces(input: Any, sizes: list[int], dim: int) -> list[Any]:
    found, start = [], 0
    for size in sizes:
        found.append(input._slice(dim, start, start + size))
        start += size
    return found


def off_base(views: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([view._off_base() for view in views])


def dim_of(op: str, input: Any, dim: int) -> int:
    if not input.ndim:
        raise RuntimeError(f"{op} expects at least a 1-dimensional tensor")
    return wrap_dim(dim, input.ndim)


@composite(
    samples=lambda rng: [
        ((normal(rng, 5, 3), 2), {}),
        ((normal(rng, 3, 5), [1, 0, 4]), {"dim": -1}),
    ],
)
def split(tensor, split_size_or_sections, dim: int = 0):
    "Views of `split_size` elements along `dim` (the last may be smaller), or of the sizes listed."
    dim = dim_of("split", tensor, dim)
    size = tensor.layout.shape[dim]
    if isinstance(split_size_or_sections, list | tuple):
        return tensor.split_with_sizes(split_size_or_sections, dim)
    if isinstance(split_size_or_sections, str | float):
        what = type(split_size_or_sections).__name__
        raise TypeError(f"split(): argument 'split_size_or_sections' must be int, not {what}")
    step = int(split_size_or_sections)
    if step < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
    if not step and size:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
        )
    if not size:
        return tensor._taken_apart("Split", [tensor._slice(dim, 0, 0)], dim)
    sizes = [min(step, size - start) for start in range(0, size, step)]
    return tensor._taken_apart("Split", pieces(tensor, sizes, dim), dim)


@composite(samples=lambda rng: [((normal(rng, 5, 3), 2), {})])
def unsafe_split(tensor, split_size, dim: int = 0):
    "`split`, whose parts may be written to as if they shared no memory: gradients do not see it."
    return off_base(tensor.split(split_size, dim))


@composite(samples=lambda rng: [((normal(rng, 3, 5), [1, 0, 4]), {"dim": -1})])
def split_with_sizes(input, split_sizes, dim: int = 0):
    "Views of the sizes listed, along `dim`."
    dim = dim_of("split", input, dim)
    sizes: Any = integers("split_with_sizes", "split_sizes", tuple(split_sizes), 1)
    sizes, size = list(sizes), input.layout.shape[dim]
    if any(n < 0 for n in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got"
            f" split_sizes={sizes}"
        )
    if sum(sizes) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at"
            f" dimension {dim}), but got split_sizes={sizes}"
        )
    return input._taken_apart("SplitWithSizes", pieces(input, sizes, dim), dim)


@composite(samples=lambda rng: [((normal(rng, 3, 5), [1, 0, 4]), {"dim": -1})])
def unsafe_split_with_sizes(input, split_sizes, dim: int = 0):
    "As `unsafe_split`, into the sizes listed."
    return off_base(input.split_with_sizes(split_sizes, dim))


@composite(samples=lambda rng: [((normal(rng, 5, 3), 2), {}), ((normal(rng, 3, 7), 5), {"dim": 1})])
def chunk(input, chunks: int, dim: int = 0):
    "At most `chunks` views of equal size along `dim`, the last of which may be smaller."
    dim = dim_of("chunk", input, dim)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.layout.shape[dim]
    step = -(-size // chunks)
    if not step:
        nothing = [input._slice(dim, 0, 0) for _ in range(chunks)]
        return input._taken_apart("SplitWithSizes", nothing, dim)
    return input.split(step, dim)


@composite(samples=lambda rng: [((normal(rng, 5, 3), 2), {})])
def unsafe_chunk(input, chunks: int, dim: int = 0):
    "As `unsafe_split`, into at most `chunks` parts of equal size."
    return off_base(input.chunk(chunks, dim))


def cuts(size: int, sections: int) -> list[int]:
    """The sizes of `sections` parts that differ by one at most, the larger ones first."""
    small, more = divmod(size, sections)
    return [small + (k < more) for k in range(sections)]


@composite(
    samples=lambda rng: [
        ((normal(rng, 5, 3), 3), {}),
        ((normal(rng, 3, 7), (2, 3, 9)), {"dim": 1}),
    ]
)
def tensor_split(input, indices_or_sections, dim: int = 0):
    "Views along `dim`: a number of nearly equal parts, or cut in front of the indices listed."
    if not input.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    dim, given = wrap_dim(dim, input.ndim), indices_or_sections
    if isinstance(given, View):
        given = given.tolist()  # type: ignore[attr-defined]
    given = integers("tensor_split", "indices_or_sections", given, 1)
    if isinstance(given, int):
        if given <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {given}")
        return tuple(pieces(input, cuts(input.layout.shape[dim], given), dim))
    ends = [*given, None]
    starts = [0, *given]
    return tuple(input._slice(dim, start, end) for start, end in zip(starts, ends, strict=True))


@composite(samples=lambda rng: [((normal(rng, 2, 3),), {}), ((normal(rng, 2, 3),), {"dim": -1})])
def unbind(input, dim: int = 0):
    "The layers of dimension `dim`, as views without it."
    dim = wrap_real_dim(dim, input.ndim)
    layers = [input.select(dim, k) for k in range(input.layout.shape[dim])]
    return input._taken_apart("Unbind", layers, dim)


def split_evenly(op: str, input: Any, given: Any, dim: int, least: int) -> Any:
    if input.ndim < least:
        raise RuntimeError(
            f"torch.{op} requires a tensor with at least {least} dimension, but got a tensor with"
            f" {input.ndim} dimensions!"
        )
    given = element(given)
    if not isinstance(given, int | list | tuple):
        raise TypeError(
            f"{op}() received an invalid combination of arguments - got (Tensor,"
            f" {type(given).__name__}), but expected an int or a tuple of ints"
        )
    size = input.layout.shape[dim]
    if isinstance(given, int) and (not given or size % given):
        raise RuntimeError(
            f"torch.{op} attempted to split along dimension {dim}, but the size of the dimension"
            f" {size} is not divisible by the split_size {given}!"
        )
    return input.tensor_split(given, dim)


@composite(samples=lambda rng: [((normal(rng, 2, 4), 2), {}), ((normal(rng, 4), (1, 3)), {})])
def hsplit(input, indices_or_sections):
    "`tensor_split` along dimension 1 (0 for vectors), into equal parts."
    return split_evenly("hsplit", input, indices_or_sections, 1 if input.ndim > 1 else 0, 1)


@composite(samples=lambda rng: [((normal(rng, 4, 2), 2), {}), ((normal(rng, 4, 2), (1, 3)), {})])
def vsplit(input, indices_or_sections):
    "`tensor_split` along dimension 0, into equal parts."
    return split_evenly("vsplit", input, indices_or_sections, 0, 2)


@composite(samples=lambda rng: [((normal(rng, 1, 2, 4), 2), {})])
def dsplit(input, indices_or_sections):
    "`tensor_split` along dimension 2, into equal parts."
    return split_evenly("dsplit", input, indices_or_sections, 2, 3)
