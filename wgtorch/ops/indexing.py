"""Looking elements up by index tensors. On a GPU all of these are one shader, gather.wgsl.

Each op says where its elements would be if every index were 0 (a Layout), and how far apart two
neighbours in the indexed dimension lie. What is asked for beyond the end is an `OutOfRangeError`:
at once on the cpu, at the next sync on webgpu.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wgtorch.dtype import DType, int32, int64
from wgtorch.errors import IndexOutOfBoundsError, OutOfRangeError
from wgtorch.layout import Layout, broadcast, wrap_dim, wrap_real_dim
from wgtorch.op import Facts, Index, Map, composite, declare
from wgtorch.ops.samples import normal

INDEX_DTYPES = (int32, int64)
BEYOND = "{op}(): index {index} is out of bounds for dimension {dim} with size {size}"


def beyond(op: str, dim: int, size: int) -> str:
    """What is said of an `{index}` too large or too small; a GPU fills it in."""
    return BEYOND.format(op=op, index="{index}", dim=dim, size=size)


def rows(op: str, index: np.ndarray, size: int, dim: int, lowest: int = 0) -> np.ndarray:
    """The index counted from the front, or the complaint: what every reference here uses."""
    if not index.size:
        return index
    least = np.minimum.reduce(index, None)
    if least < lowest or np.maximum.reduce(index, None) >= size:
        wrong = index[(index < lowest) | (index >= size)]
        text = beyond(op, dim, size).format(index=int(wrong[0]))
        raise OutOfRangeError(text.removeprefix("index(): ").removeprefix("index_put(): "))
    return np.where(index < 0, index + size, index) if least < 0 else index


def check_size(sizes: Sequence[int], index: tuple[int, ...]) -> None:
    """No index is within a dimension of size 0, even where there is no element to read."""
    if 0 in sizes and 0 not in index:
        raise IndexOutOfBoundsError("index is out of bounds for dimension with size 0")


def axes(layout: Layout) -> Layout:
    """A 0-d layout as one of a single element."""
    return layout if layout.shape else layout.unsqueeze(0)


# Where elements would be if every index were 0


def aligned_base(layout: Layout, dim: int, shape: tuple[int, ...]) -> Layout:
    """For an index of as many dimensions as what is indexed (gather, scatter)."""
    strides = tuple(0 if d == dim else s for d, s in enumerate(layout.strides))
    return Layout.of(shape, strides, layout.offset)


def spread_base(layout: Layout, dim: int, index: Layout) -> Layout:
    """For an index whose dimensions take the place of dimension `dim`."""
    shape = (*layout.shape[:dim], *index.shape, *layout.shape[dim + 1 :])
    zeros = (0,) * len(index.shape)
    strides = (*layout.strides[:dim], *zeros, *layout.strides[dim + 1 :])
    return Layout.of(shape, strides, layout.offset)


def spread_index(layout: Layout, dim: int, index: Layout) -> Layout:
    """The index, repeated over the dimensions beside its own."""
    shape = (*layout.shape[:dim], *index.shape, *layout.shape[dim + 1 :])
    before, after = (0,) * dim, (0,) * (len(layout.shape) - dim - 1)
    return Layout.of(shape, (*before, *index.strides, *after), index.offset)


def taking(op: str, negative: bool):
    """Facts of a Map that puts `input`, indexed in dimension `dim`, in the place of its index."""

    def numbers(facts: Facts):
        layout, dim = axes(facts.layouts[0]), facts.attrs["dim"]
        size = layout.shape[dim]
        return layout.strides[dim], size, -size if negative else 0

    def places(facts: Facts):
        layout, dim = axes(facts.layouts[0]), facts.attrs["dim"]
        index = facts.layouts[1]
        return {
            "base": spread_base(layout, dim, index),
            "index": spread_index(layout, dim, index),
        }

    def complaint(facts: Facts):
        dim = facts.attrs["dim"]
        return beyond(op, dim, axes(facts.layouts[0]).shape[dim])

    def shape(input, index, dim, **_):
        input = input or (1,)
        if not input[dim] and negative:
            check_size((0,), index)
        elif not input[dim] and 0 not in index:
            raise OutOfRangeError("index_select(): self indexing axis dim should be positive")
        return (*input[:dim], *index, *input[dim + 1 :])

    return {
        "shader": "gather.wgsl", "numbers": numbers, "places": places, "complaint": complaint,
        "shape": shape, "dtype": lambda input, index, **_: input, "promotes": False,
        "by_first": "index",
    }  # fmt: skip


def taken(op: str, input: np.ndarray, index: np.ndarray, dim: int, negative: bool) -> np.ndarray:
    """The reference of `taking`."""
    input = input if input.ndim else input[None]
    size = input.shape[dim]
    shape = (*input.shape[:dim], *index.shape, *input.shape[dim + 1 :])
    if 0 in shape:
        return np.zeros(shape, input.dtype)
    if negative:
        try:
            return input.take(index, dim)
        except IndexError:
            pass  # `rows` has the words for it
    return input.take(rows(op, index, size, dim, -size if negative else 0), dim)


# The ops


def check_gather(input: tuple[int, ...], index: tuple[int, ...], dim: int) -> None:
    """PyTorch's complaints about shapes."""
    if len(input or (1,)) != len(index or (1,)):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    pairs = enumerate(zip(index, input, strict=False))
    if any(d != dim and want > have for d, (want, have) in pairs):
        raise RuntimeError(
            f"Size does not match at dimension"
            f" {next(d for d, n in enumerate(index) if d != dim and n > input[d])} expected index"
            f" {list(index)} to be no larger than self {list(input)} apart from dimension {dim}"
        )


def gather_front(door):
    def call(input, dim, index, *, sparse_grad=False):
        dim = wrap_dim(dim, input.ndim)
        if not index.layout.numel:
            index = index.to(int64)
        if index.dtype not in INDEX_DTYPES:
            raise RuntimeError("gather(): Expected dtype int32/int64 for index")
        if index.numel() or not input.ndim:
            check_gather(input.layout.shape, index.layout.shape, dim)
        return door(input, dim, index, sparse_grad=sparse_grad)

    return call


def gather_samples(rng):
    index = rng.integers(0, 3, (2, 4))
    yield (normal(rng, 3, 5), 0, index), {}
    yield (normal(rng, 5, 4), 1, index), {}
    yield (normal(rng, 5, 3).T, 0, rng.integers(0, 3, (6, 5))), {}
    yield (normal(rng, 2, 3, 4), -2, rng.integers(0, 3, (2, 7, 4))), {}


@declare(
    Map,
    apart="all",
    shader="gather.wgsl",
    shape=lambda input, index, **_: index,
    dtype=lambda input, index, **_: input,
    numbers=lambda facts: (
        axes(facts.layouts[0]).strides[facts.attrs["dim"]],
        axes(facts.layouts[0]).shape[facts.attrs["dim"]],
        0,
    ),
    places=lambda facts: {
        "base": aligned_base(
            axes(facts.layouts[0]), facts.attrs["dim"], axes(facts.layouts[1]).shape
        ),
        "index": facts.layouts[1],
    },
    complaint=lambda facts: beyond(
        "gather", facts.attrs["dim"], axes(facts.layouts[0]).shape[facts.attrs["dim"]]
    ),
    promotes=False,
    front=gather_front,
    vjp={
        "input": lambda grad, input_shape, dim, index: grad.new_zeros(input_shape).scatter_add(
            dim, index, grad
        )
    },
    samples=gather_samples,
    complex=True,
)
def gather(input, dim: int, index: Index, *, sparse_grad: bool = False):
    """The elements of `input` whose place in dimension `dim` is what `index` holds.

    `index` (int32 or int64) has as many dimensions as `input`, and its shape is the result's.
    """
    shape = index.shape
    input, index = (a if a.ndim else a[None] for a in (input, index))
    index = rows("gather", index, input.shape[dim], dim)
    if not index.size:
        return np.zeros(shape, input.dtype)
    places = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return input[tuple(places)].reshape(shape)


def index_select_front(door):
    def call(input, dim, index):
        dim = wrap_dim(dim, input.ndim)
        if index.ndim > 1:
            raise IndexError("index_select(): Index is supposed to be a vector")
        if index.dtype not in INDEX_DTYPES:
            raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
        if not input.ndim:
            if index.numel() != 1:
                raise RuntimeError(
                    f"index_select(): Index to scalar can have only 1 value, got {index.numel()}"
                    f" value(s)"
                )
            return door(input, dim, index.reshape(()))
        return door(input, dim, index if index.ndim else index.reshape((1,)))

    return call


def taking_samples(*shape):
    def samples(rng):
        yield (normal(rng, 3, 5), 0, rng.integers(0, 3, shape)), {}
        yield (normal(rng, 3, 5).T, -1, rng.integers(0, 3, shape)), {}
        yield (normal(rng, 2, 3, 4), 1, rng.integers(0, 3, shape)), {}

    return samples


@declare(
    Map,
    apart="all",
    **taking("index_select", negative=False),
    front=index_select_front,
    vjp={
        "input": lambda grad, input_shape, dim, index: grad.new_zeros(input_shape).index_add(
            dim, index, grad
        )
    },
    samples=taking_samples(4),
    complex=True,
)
def index_select(input, dim: int, index: Index):
    "The slices of `input` along `dim` that the vector `index` (int32 or int64) names, in order."
    return taken("index_select", input, index, dim, negative=False)


@declare(
    Map,
    **taking("index", negative=True),
    vjp={
        "input": lambda grad, input_shape, index, dim: grad.new_zeros(input_shape)._index_add(
            index, grad, dim, "index"
        )
    },
    samples=lambda rng: [
        ((normal(rng, 4, 3), rng.integers(-4, 4, (2, 3)), 0), {}),
        ((normal(rng, 2, 4, 3), rng.integers(-4, 4, (5,)), 1), {}),
    ],
    torch="none",
    complex=True,
)
def _index(input, index: Index, dim: int):
    "`input` with dimension `dim` replaced by those of `index`: what `x[:, index]` is."
    return taken("index", input, index, dim, negative=True)


def check_long(op: str, index, dtypes: tuple[DType, ...] = (int64,)) -> None:
    if index.dtype not in dtypes:
        raise RuntimeError(f"{op}(): Expected a long tensor for index, but got {index.dtype.short}")


@composite(
    apart="all",
    samples=lambda rng: [
        ((normal(rng, 3, 5), rng.integers(-15, 15, (2, 3))), {}),
        ((normal(rng, 5, 3).T, rng.integers(0, 15, (4,))), {}),
    ],
)
def take(input, index):
    "The elements at `index` (int64; negative from the end) of `input` seen as one dimension."
    check_long("take", index)
    return input.reshape((-1,))._index(index, 0)


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 5), rng.integers(0, 5, (3, 2)), 1), {}),
        ((normal(rng, 3, 5), rng.integers(0, 5, (1, 2)), 1), {}),
        ((normal(rng, 3, 5), rng.integers(0, 15, (4,))), {}),
    ]
)
def take_along_dim(input, indices, dim: int | None = None):
    "As `gather`, after the two are broadcast in all other dimensions; flat without a `dim`."
    name = "torch.take_along_dim()"
    if indices.dtype is not int64:
        raise RuntimeError(f"{name}: dtype of indices should be Long but got {indices.dtype.short}")
    if dim is None:
        input, indices, dim = input.reshape((-1,)), indices.reshape((-1,)), 0
    if input.ndim != indices.ndim:
        raise RuntimeError(
            f"{name}: input and indices should have the same number of dimensions, but got"
            f" {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    dim = wrap_real_dim(dim, input.ndim)
    common = list(broadcast(*(without(t, dim) for t in (input, indices))))
    sizes = [list(common), list(common)]
    for size, t in zip(sizes, (input, indices), strict=True):
        size[dim] = t.shape[dim]
    indices = indices.where(indices >= 0, indices + input.shape[dim])
    return input.expand(sizes[0]).gather(dim, indices.expand(sizes[1]))


def without(t, dim: int) -> tuple[int, ...]:
    """The shape with dimension `dim` as 1."""
    return (*t.shape[:dim], 1, *t.shape[dim + 1 :])


def embedding_grad(grad, input_shape, index, dim, padding_idx, scale_grad_by_freq):
    index = index.reshape((-1,))
    rest = input_shape[dim + 1 :]
    each = (-1, *[1] * len(rest))  # a number for each index beside what it has taken
    grad = grad.reshape((*input_shape[:dim], index.layout.numel, *rest))
    if padding_idx >= 0:
        grad = grad.masked_fill((index == padding_idx).reshape(each), 0)
    if scale_grad_by_freq:
        often = grad.new_zeros((input_shape[dim],)).index_add(
            0, index, grad.new_ones(index.layout.shape)
        )
        grad = grad / often.index_select(0, index).reshape(each)
    return grad.new_zeros(input_shape).index_add(dim, index, grad)


@declare(
    Map,
    **taking("embedding", negative=False),
    vjp={"input": embedding_grad},
    samples=lambda rng: [
        ((normal(rng, 5, 3), rng.integers(0, 5, (2, 4)), 0), {}),
        ((normal(rng, 5, 3), rng.integers(0, 5, (6,)), 0), {}),
    ],
    torch="none",
)
def _embedding(input, index: Index, dim: int, padding_idx: int = -1,
               scale_grad_by_freq: bool = False):  # fmt: skip
    "As `_index` along the first dimension; what is special are the gradients."
    return taken("embedding", input, index, dim, negative=False)


@composite(
    method=False,
    samples=lambda rng: [
        ((normal(rng, 5, 3), rng.integers(0, 5, (2, 4))), {}),
        ((normal(rng, 5, 3), rng.integers(0, 5, (6,))), {}),
    ],
)
def embedding(weight, indices, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False):  # fmt: skip
    """Rows of `weight`; the row `padding_idx` gets no gradient, and the gradients of a row that was
    asked for several times are added up (with `scale_grad_by_freq`: averaged).
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype not in INDEX_DTYPES:
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types:"
            f" Long, Int; but got torch.{indices.dtype.short}Tensor instead (while checking"
            f" arguments for embedding)"
        )
    return weight._embedding(indices, 0, padding_idx, scale_grad_by_freq)
