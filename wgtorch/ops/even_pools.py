"""Even windows cover a plane for a result of a given size: the adaptive pools.

They overlap where sizes do not divide: window o of `out` begins at
floor(o length / out) and ends before ceil((o + 1) length / out).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import int64
from wgtorch.integers import integers
from wgtorch.op import Map, composite, declare
from wgtorch.ops.pools import check_kind, check_planes, check_rows
from wgtorch.ops.samples import apart, normal


def even(length: int, out: int) -> tuple[np.ndarray, np.ndarray]:
    """(out, taps): the places in each window, shorter ones with their last repeated; whether they
    are no such repetition."""
    index = np.arange(out)[:, None]
    start, end = index * length // out, -(-(index + 1) * length // out)
    places = start + np.arange((end - start).max())
    return np.minimum(places, end - 1), places < end


def even_sums(x: np.ndarray, out: int) -> np.ndarray:
    """Of the windows of the last axis."""
    places, inside = even(x.shape[-1], out)
    return np.where(inside, x[..., places], 0).sum(-1)


def even_sizes(length: int, out: int) -> np.ndarray:
    return even(length, out)[1].sum(-1)


def even_numbers(big: tuple[int, ...], small: tuple[int, ...]) -> tuple[int, ...]:
    return (*big[-2:], *small[-2:])


@declare(
    Map,
    shape=lambda grad_output, sizes: (*grad_output[:-2], *sizes),
    shader="adaptive_avg_pool_backward.wgsl",
    numbers=lambda facts: even_numbers(facts.out.shape, facts.layouts[0].shape),
    places=lambda facts: {"grad_output": facts.layouts[0]},
    vjp={
        "grad_output": lambda grad, grad_output_shape: grad._adaptive_avg_pool(
            grad_output_shape[-2:]
        )
    },
    samples=lambda rng: [((normal(rng, 2, 3, 4, 5),), {"sizes": (7, 6)})],
)
def _adaptive_avg_pool_backward(grad_output, sizes: Any):
    "Each gradient shared among the elements of its window."
    if 0 in grad_output.shape[-2:]:
        return np.zeros((*grad_output.shape[:-2], *sizes), grad_output.dtype)
    height, width = grad_output.shape[-2:]
    tall = even_sizes(sizes[0], height)[:, None]
    shares = grad_output / (tall * even_sizes(sizes[1], width)).astype(grad_output.dtype)
    # the windows that an element is in are even ones themselves
    lines = even_sums(shares, sizes[1])
    return even_sums(lines.swapaxes(-1, -2), sizes[0]).swapaxes(-1, -2)


@declare(
    Map,
    shape=lambda input, output_size: (*input[:-2], *output_size),
    shader="adaptive_avg_pool.wgsl",
    numbers=lambda facts: even_numbers(facts.layouts[0].shape, facts.out.shape),
    places=lambda facts: {"input": facts.layouts[0]},
    vjp={"input": lambda grad, input_shape: grad._adaptive_avg_pool_backward(input_shape[-2:])},
    samples=lambda rng: [((normal(rng, 2, 3, 7, 6),), {"output_size": (4, 5)})],
)
def _adaptive_avg_pool(input, output_size: Any):
    "The mean of each of windows that cover the planes evenly."
    if 0 in output_size:
        return np.zeros((*input.shape[:-2], *output_size), input.dtype)
    sizes = [even_sizes(*pair) for pair in zip(input.shape[-2:], output_size, strict=True)]
    lines = even_sums(input.swapaxes(-1, -2), output_size[0]).swapaxes(-1, -2)
    lines = lines / sizes[0][:, None].astype(input.dtype)
    return even_sums(lines, output_size[1]) / sizes[1].astype(input.dtype)


@declare(
    Map,
    shape=lambda input, output_size: (*input[:-2], *output_size),
    dtype=lambda input, **attrs: int64,
    shader="adaptive_max_pool.wgsl",
    numbers=lambda facts: even_numbers(facts.layouts[0].shape, facts.out.shape),
    places=lambda facts: {"input": facts.layouts[0]},
    samples=lambda rng: [((apart(rng, 2, 3, 7, 6),), {"output_size": (4, 5)})],
)
def _adaptive_max_places(input, output_size: Any):
    "Where in its plane the largest of each even window is."
    if 0 in output_size:
        return np.zeros((*input.shape[:-2], *output_size), np.int64)
    rows, _ = even(input.shape[-2], output_size[0])
    columns, _ = even(input.shape[-1], output_size[1])
    parts = input[..., rows[:, None, :, None], columns[:, None, :]]
    flat = (*parts.shape[:-2], parts.shape[-2] * parts.shape[-1])
    best = parts.reshape(flat).argmax(-1)  # the first of equals: no repetition
    down, across = np.divmod(best, columns.shape[1])
    y = rows[np.arange(output_size[0])[:, None], down]
    return y * input.shape[-1] + columns[np.arange(output_size[1]), across]


def asked_size(op: str, output_size: Any, shape: tuple[int, ...], dims: int) -> tuple[int, ...]:
    """`output_size` of the last `dims` of a shape, None meaning what is there."""
    have = shape[-dims:]
    several = isinstance(output_size, list | tuple)
    given = tuple(output_size) if several else (output_size,) * dims
    if len(given) != len(have):
        if dims == 1:
            raise RuntimeError(
                f"{op}() argument 'output_size' should contain one int (got {len(given)})"
            )
        said = "(): internal error: output_size.size()" if "max" in op else ": output_size"
        raise RuntimeError(f"{op}{said} must be {dims}")
    wanted = [n if want is None else want for want, n in zip(given, have, strict=True)]
    size: Any = integers(op, "output_size", wanted, 2)
    if min(size) < 0 and "max" in op:
        whole = [*shape[:-dims], *(1,) * (dims == 1), *size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {whole}")
    if min(size) < 0:
        raise RuntimeError(
            f"{op}: elements of output_size must be greater than or equal to 0 but received"
            f" {{{', '.join(map(str, size))}}}"
        )
    return size


def evenly(input, size: tuple[int, int]):
    """The mean of even windows, by the cheapest way to it."""
    height, width = input.shape[-2:]
    if size == (1, 1):
        return input.mean((-2, -1), True)
    if 0 not in size and not height % size[0] and not width % size[1]:
        step = (height // size[0], width // size[1])
        return input._avg_pool(step, step, (0, 0), False, True, 0)
    return input._adaptive_avg_pool(size)


@composite(
    samples=lambda rng: [
        ((normal(rng, 2, 3, 8, 6), size), {}) for size in (1, (4, 3), (3, None), 5)
    ],
    method=False,
    torch="nn.functional.adaptive_avg_pool2d",
)
def adaptive_avg_pool2d(input, output_size: object):
    "The mean of windows chosen so that each plane becomes `output_size`; None keeps a size."
    if input.ndim < 3:
        raise ValueError("Input dimension should be at least 3")
    size = asked_size("adaptive_avg_pool2d", output_size, input.layout.shape, 2)
    check_kind(input, "adaptive_avg_pool2d")
    check_planes(input, "adaptive_avg_pool2d")
    return evenly(input, size)


@composite(samples=lambda rng: [((normal(rng, 2, 3, 8), 3), {})], method=False)
def adaptive_avg_pool1d(input, output_size: object):
    "The mean of windows chosen so that each row becomes `output_size`."
    check_rows(input, "adaptive_avg_pool1d")
    size = asked_size("adaptive_avg_pool1d", output_size, input.layout.shape, 1)
    check_kind(input, "adaptive_avg_pool1d")
    return evenly(input.unsqueeze(-2), (1, *size)).squeeze(-2)


def evenly_largest(input, size: tuple[int, ...]):
    """(largest of each even window, where in its plane)."""
    check_kind(input, "adaptive_max_pool2d")
    indices = input.detach()._adaptive_max_places(size)
    values = input.flatten(-2).gather(-1, indices.flatten(-2))
    return values.reshape(indices.shape), indices


def check_filled(op: str, shape: tuple[int, ...]) -> None:
    """That only the first dimension is empty."""
    for d, size in enumerate(shape):
        if d and not size:
            raise RuntimeError(
                f"{op}(): Expected input to have non-zero size for non-batch dimensions, but input"
                f" has sizes {list(shape)} with dimension {d} being empty"
            )


@composite(samples=lambda rng: [((apart(rng, 2, 3, 8, 6), (3, 4)), {})], method=False,
           torch="nn.functional.adaptive_max_pool2d_with_indices")  # fmt: skip
def adaptive_max_pool2d(input, output_size: object):
    "(the largest of windows chosen so that each plane becomes `output_size`, where it is)."
    if input.ndim < 3:
        raise ValueError("Input dimension should be at least 3")
    if input.ndim > 4:
        check_planes(input, "adaptive_max_pool2d")
    check_filled("adaptive_max_pool2d", input.layout.shape)
    size = asked_size("adaptive_max_pool2d", output_size, input.layout.shape, 2)
    return evenly_largest(input, size)


@composite(samples=lambda rng: [((apart(rng, 2, 3, 8), 3), {})], method=False)
def adaptive_max_pool1d(input, output_size: object):
    "(the largest of windows chosen so that each row becomes `output_size`, where it is)."
    check_rows(input, "adaptive_max_pool1d")
    check_filled("adaptive_max_pool1d", input.layout.shape)
    size = asked_size("adaptive_max_pool1d", output_size, input.layout.shape, 1)
    values, indices = evenly_largest(input.unsqueeze(-2), (1, *size))
    return values.squeeze(-2), indices.squeeze(-2)
