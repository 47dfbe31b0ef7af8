"""Diagonals and triangles of matrices, and matrices made from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.layout import wrap_dim
from wgtorch.op import Map, composite, declare
from wgtorch.ops.samples import normal


def within(diagonal: int, shape: tuple[int, ...]) -> int:
    """The nearest diagonal that a matrix has, or one beside it."""
    rows, columns = shape[-2:]
    return max(-rows, min(diagonal, columns))


def triangle(upper: bool) -> dict[str, Any]:
    """Facts of tril and triu."""
    name = "triu" if upper else "tril"

    def shape(input, diagonal):
        if len(input) < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return input

    return {
        "shader": "triangle.wgsl",
        "shape": shape,
        "numbers": lambda facts: (
            *facts.out.shape[-2:],
            within(facts.attrs["diagonal"], facts.out.shape),
            int(upper),
        ),
        "places": lambda facts: {"input": facts.layouts[0]},
        "inplace": True,
        "samples": lambda rng: [
            ((normal(rng, 3, 4),), {}),
            ((normal(rng, 4, 3).T, 1), {}),
            ((normal(rng, 2, 4, 3),), {"diagonal": -2}),
        ],
    }


@declare(
    Map, **triangle(False), vjp={"input": lambda grad, diagonal: grad.tril(diagonal)}, complex=True
)
def tril(input, diagonal: int = 0):
    "What is on and below the `diagonal`-th diagonal; zeros above."
    return np.tril(input, within(diagonal, input.shape))


@declare(
    Map, **triangle(True), vjp={"input": lambda grad, diagonal: grad.triu(diagonal)}, complex=True
)
def triu(input, diagonal: int = 0):
    "What is on and above the `diagonal`-th diagonal; zeros below."
    return np.triu(input, within(diagonal, input.shape))


@composite(
    samples=lambda rng: [
        ((normal(rng, 3),), {}),
        ((normal(rng, 2, 3),), {"offset": -1}),
        ((normal(rng, 2, 3), 2, 0, 1), {}),
    ]
)
def diag_embed(input, offset: int = 0, dim1: int = -2, dim2: int = -1):
    "Matrices, in the dimensions `dim1` and `dim2` of the result, with the input on a diagonal."
    rank = input.ndim + 1
    a, b = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for d in sorted((a, b)):
        shape.insert(d, size)
    return input.new_zeros(shape).diagonal_scatter(input, offset, a, b)


@composite(
    samples=lambda rng: [
        ((normal(rng, 3),), {}),
        ((normal(rng, 3), 1), {}),
        ((normal(rng, 3, 4), -1), {}),
    ]
)
def diag(input, diagonal: int = 0):
    "The matrix with a vector on its diagonal, or the diagonal of a matrix."
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    if input.ndim == 1:
        return input.diag_embed(diagonal)
    return input.diagonal(diagonal).clone()


@composite(samples=lambda rng: [((normal(rng, 2, 3),), {}), ((normal(rng, 3),), {"offset": 1})])
def diagflat(input, offset: int = 0):
    "The matrix with all elements of the input on its diagonal."
    return input.reshape((-1,)).diag_embed(offset)


@composite(
    method=False,
    samples=lambda rng: [((normal(rng, 2, 3), normal(rng, 2), normal(rng)), {})],
)
def block_diag(*tensors):
    "The matrix with the tensors (of at most 2 dimensions) as blocks on its diagonal."
    if not tensors:
        raise RuntimeError("block_diag(): expected at least one tensor")
    for place, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {place}"
                f" has {t.ndim} dimensions"
            )
    blocks = [t if t.ndim == 2 else t.reshape((1, t.numel())) for t in tensors]
    starts, row, col = [], 0, 0
    for block in blocks:
        starts.append((row, col))
        row, col = row + block.shape[0], col + block.shape[1]
    dtype = blocks[0].dtype
    for block in blocks:
        dtype = (block.new_zeros(()) + blocks[0].new_zeros((1,), dtype=dtype)).dtype
    return blocks[0].new_zeros((row, col), dtype=dtype)._inset(blocks, tuple(starts))
