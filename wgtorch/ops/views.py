"""Ops that move no data: each is a Layout method under a tensor's name."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.errors import IndexOutOfBoundsError, ShapeError
from wgtorch.integers import integer, integers
from wgtorch.layout import Layout, whole, wrap_dim, wrap_real_dim
from wgtorch.op import Sizes, ViewOp, composite, declare
from wgtorch.ops.reinterpretation import by_dtype
from wgtorch.ops.samples import normal
from wgtorch.storage import View


def permute_layout(layout: Layout, dims: Sizes) -> Layout:
    rank = len(layout.shape)
    if len(dims) != rank:
        raise ShapeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the"
            f" length of the desired ordering of dimensions i.e. input.dim() = {rank} is not equal"
            f" to len(dims) = {len(dims)}".replace("(sparse_coo)", "")
        )
    wrapped = tuple(wrap_dim(d, rank) for d in dims)
    if len(set(wrapped)) != rank:
        raise ShapeError("permute(): duplicate dims are not allowed.")
    return layout.permute(wrapped)


def inverse(dims: Sizes) -> Sizes:
    wrapped = [d % len(dims) for d in dims]
    return tuple(int(i) for i in np.argsort(wrapped))


@declare(
    ViewOp,
    layout=permute_layout,
    vjp={"input": lambda grad, dims: grad.permute(inverse(dims))},
    samples=lambda rng: [((normal(rng, 2, 3, 4),), {"dims": (2, 0, -2)})],
)
def permute(input, dims: Sizes):
    "The dimensions in another order."
    return np.transpose(input, dims)


def transpose_layout(layout: Layout, dim0: int, dim1: int) -> Layout:
    rank = len(layout.shape)
    a, b = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
    dims = list(range(rank))
    if rank:
        dims[a], dims[b] = dims[b], dims[a]
    return layout.permute(tuple(dims))


@declare(
    ViewOp,
    layout=transpose_layout,
    vjp={"input": lambda grad, dim0, dim1: grad.transpose(dim0, dim1)},
    samples=lambda rng: [((normal(rng, 2, 3, 4),), {"dim0": 0, "dim1": -1})],
    aliases=("swapaxes", "swapdims"),
)
def transpose(input, dim0: int, dim1: int):
    "Dimensions `dim0` and `dim1` swapped."
    return np.swapaxes(input, dim0, dim1)


@composite(samples=lambda rng: [((normal(rng, 3, 4),), {}), ((normal(rng, 3),), {})])
def t(input):
    "The transpose of a tensor of at most two dimensions."
    rank = len(input.layout.shape)
    if rank > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return input.transpose(0, 1) if rank == 2 else input.view_as(input)


@composite(samples=lambda rng: [((normal(rng, 2, 3, 4),), {"source": 0, "destination": 2})],
           aliases=("moveaxis",))  # fmt: skip
def movedim(input, source: Sizes, destination: Sizes):
    "Dimensions at `source` moved to `destination`; the others keep their order."
    rank = input.ndim
    asked: tuple[Any, Any] = (
        integers("movedim", "source", source, 1),
        integers("movedim", "destination", destination, 2),
    )
    given = [[d] if isinstance(d, int) else list(d) for d in asked]
    if len(given[0]) != len(given[1]):
        raise ShapeError(
            f"movedim: Invalid source or destination dims: source ({given[0]} dims) should contain"
            f" the same number of dims as destination ({given[1]} dims)"
        )
    sources, targets = [[wrap_dim(d, rank) for d in dims] for dims in given]
    for name, dims, said in zip(("source", "destination"), (sources, targets), given, strict=True):
        if len(set(dims)) < len(dims):
            raise ShapeError(f"movedim: repeated dim in `{name}` ({said})")
    rest = iter(d for d in range(rank) if d not in sources)
    moved = dict(zip(targets, sources, strict=True))
    return input.permute(tuple(moved[d] if d in moved else next(rest) for d in range(rank)))


def expand_layout(layout: Layout, size: Sizes, implicit: bool = False) -> Layout:
    new = len(size) - len(layout.shape)
    if new < 0:
        raise ShapeError(
            f"expand({list(layout.shape)}, size={list(size)}): the number of sizes provided"
            f" ({len(size)}) must be greater or equal to the number of dimensions in the tensor"
            f" ({len(layout.shape)})"
        )
    shape = list(size)
    for d, (have, want) in enumerate(zip(layout.shape, size[new:], strict=True), new):
        if want == -1:
            shape[d] = have
        elif have not in (1, want):
            raise ShapeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at"
                f" non-singleton dimension {d}.  Target sizes: {list(size)}.  Tensor sizes:"
                f" {list(layout.shape)}"
            )
    if any(n < 0 for n in shape):
        raise ShapeError(
            f"The expanded size of the tensor ({min(shape)}) isn't allowed in a leading,"
            f" non-existing dimension {shape.index(min(shape))}"
        )
    return layout.expand(tuple(shape))


@declare(
    ViewOp,
    layout=expand_layout,
    vjp={"input": lambda grad, input_shape: grad.sum_to_size(input_shape)},
    samples=lambda rng: [((normal(rng, 3, 1),), {"size": (2, -1, 4)})],
)
def expand(input, size: Sizes, *, implicit: bool = False):
    "Dimensions of size 1 repeated without copying; -1 keeps a size."
    new = len(size) - input.ndim
    shape = [input.shape[d - new] if n == -1 else n for d, n in enumerate(size)]
    return np.broadcast_to(input, shape)


def sized(layout: Layout, shape: Sizes) -> Sizes:
    """`shape` with its -1 worked out."""
    shape = whole(shape)
    if any(n < -1 for n in shape):
        raise ShapeError(f"invalid shape dimension {min(shape)}")
    if shape.count(-1) > 1:
        raise ShapeError("only one dimension can be inferred")
    known = 1
    for n in shape:
        known *= n if n != -1 else 1
    wrong = ShapeError(f"shape '{list(shape)}' is invalid for input of size {layout.numel}")
    if -1 not in shape:
        if known != layout.numel:
            raise wrong
        return shape
    if not known:
        if layout.numel:
            raise wrong
        raise ShapeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified"
            f" dimension size -1 can be any value and is ambiguous"
        )
    if layout.numel % known:
        raise wrong
    return tuple(layout.numel // known if n == -1 else n for n in shape)


@declare(
    ViewOp,
    layout=lambda layout, shape: layout.reshape(sized(layout, shape)),
    vjp={"input": lambda grad, input_shape: grad.reshape(input_shape)},
    samples=lambda rng: [
        ((normal(rng, 4, 6),), {"shape": (2, -1)}),
        ((normal(rng, 6, 4).T,), {"shape": (3, 8)}),
    ],
)
def reshape(input, shape: Sizes):
    "The same elements under a new shape; copies only where no layout can say it."
    return np.reshape(input, shape)


def view_layout(layout: Layout, size: Sizes) -> Layout:
    found = layout.reshape(sized(layout, size))
    if found is None:
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one"
            " dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return found


@declare(
    ViewOp,
    layout=view_layout,
    vjp={"input": lambda grad, input_shape: grad.reshape(input_shape)},
    samples=lambda rng: [((normal(rng, 4, 6),), {"size": (2, 12)})],
    torch="Tensor.view",
    front=by_dtype,
)
def view(input, size: Sizes):
    "The same memory under a new shape, or as another dtype; `RuntimeError` where that cannot be."
    return np.reshape(input, size)


@declare(
    ViewOp,
    layout=lambda layout, dim: layout.unsqueeze(wrap_dim(dim, len(layout.shape) + 1)),
    vjp={"input": lambda grad, input_shape: grad.reshape(input_shape)},
    samples=lambda rng: [((normal(rng, 3, 4),), {"dim": -2})],
)
def unsqueeze(input, dim: int):
    "With a new dimension of size 1 at `dim`."
    return np.expand_dims(input, dim)


def squeeze_layout(layout: Layout, dim) -> Layout:
    rank = len(layout.shape)
    asked: Any = range(rank) if dim is None else integers("squeeze", "dim", dim, 1)
    dims = (asked,) if isinstance(asked, int) else asked
    wrapped = tuple(wrap_dim(d, rank) for d in dims)
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise ShapeError(f"dim {d} appears multiple times in the list of dims")
    return layout.squeeze(wrapped)


@declare(
    ViewOp,
    layout=squeeze_layout,
    vjp={"input": lambda grad, input_shape: grad.reshape(input_shape)},
    samples=lambda rng: [
        ((normal(rng, 3, 1, 4, 1),), {}),
        ((normal(rng, 3, 1, 4, 1),), {"dim": 1}),
        ((normal(rng, 3, 1, 4, 1),), {"dim": (0, -1)}),
    ],
)
def squeeze(input, dim: Sizes | None = None):
    "Without the dimensions of size 1 (those of `dim`, where given)."
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    kept = {d % (input.ndim or 1) for d in dims}
    return input.reshape([n for d, n in enumerate(input.shape) if d not in kept or n != 1])


def select_layout(layout: Layout, dim: int, index: int) -> Layout:
    rank = len(layout.shape)
    if not rank:
        raise IndexOutOfBoundsError("select() cannot be applied to a 0-dim tensor.")
    axis = wrap_dim(dim, rank)
    size = layout.shape[axis]
    if not -size <= index < size:
        raise IndexOutOfBoundsError(
            f"select(): index {index} out of range for tensor of size {list(layout.shape)} at"
            f" dimension {axis}"
        )
    return layout.select(axis, index % size)


@declare(
    ViewOp,
    layout=select_layout,
    vjp={
        "input": lambda grad, input_shape, dim, index: grad.new_zeros(input_shape).select_scatter(
            grad, dim, index
        )
    },
    samples=lambda rng: [((normal(rng, 3, 4, 2),), {"dim": 1, "index": -3})],
)
def select(input, dim: int, index: int):
    "Without dimension `dim`, at `index`."
    return np.take(input, index, dim)


def slice_layout(layout: Layout, dim: int, start, end, step: int) -> Layout:
    rank = len(layout.shape)
    if not rank:
        raise ShapeError("slice() cannot be applied to a 0-dim tensor.")
    axis = wrap_dim(dim, rank)
    if step < 1:
        raise ShapeError("slice step must be positive")
    first, last, _ = slice_(start, end).indices(layout.shape[axis])
    return layout.slice(axis, first, max(0, -(-(last - first) // step)), step)


slice_ = slice  # the op below takes its name


@declare(
    ViewOp,
    layout=slice_layout,
    vjp={
        "input": lambda grad, input_shape, dim, start, end, step: grad.new_zeros(
            input_shape
        ).slice_scatter(grad, dim, start, end, step)
    },
    samples=lambda rng: [((normal(rng, 7, 4),), {"dim": 0, "start": 1, "end": -1, "step": 2})],
    torch="ops.aten.slice",
)
def _slice(input, dim: int = 0, start: int | None = None, end: int | None = None,
               step: int = 1):  # fmt: skip
    "Every `step`-th of `start` to `end` along `dim`: what `x[start:end:step]` is."
    return input[(slice_(None),) * (dim % input.ndim) + (slice_(start, end, step),)]


@composite(samples=lambda rng: [((normal(rng, 5, 4),), {"dim": 0, "start": 1, "length": 3})])
def narrow(input, dim: int, start: Any, length: int):
    "`length` elements from `start`, an int or a tensor of one, on, along `dim`."
    if type(start) is not int:
        if isinstance(start, View) and (start.ndim or start.dtype.category != 1):
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = integer("narrow", "start", start, 2)
    shape = input.layout.shape
    if not shape:
        raise ShapeError("narrow() cannot be applied to a 0-dim tensor.")
    size = shape[wrap_dim(dim, len(shape))]
    if length < 0:
        raise ShapeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexOutOfBoundsError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    start = start + size if start < 0 else start
    if start + length > size:
        raise ShapeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return input._slice(dim, start, start + length)


@composite(samples=lambda rng: [((normal(rng, 5, 4),), {"dim": 0, "start": 1, "length": 3})])
def narrow_copy(input, dim: int, start: int, length: int):
    "As `narrow`, in memory of its own."
    return input.narrow(dim, start, length).clone()


@composite(samples=lambda rng: [((normal(rng, 2, 3, 4),), {"start_dim": 1})])
def flatten(input, start_dim: int = 0, end_dim: int = -1):
    "Dimensions `start_dim` to `end_dim` as one."
    shape = input.layout.shape
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if not shape:
        return input.reshape((1,))
    if first > last:
        raise ShapeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    inside = 1
    for n in shape[first : last + 1]:
        inside *= n
    return input.reshape((*shape[:first], inside, *shape[last + 1 :]))


@composite(samples=lambda rng: [((normal(rng, 2, 12),), {"dim": 1, "sizes": (3, -1)})])
def unflatten(input, dim: int, sizes: Sizes):
    "Dimension `dim` split into `sizes`."
    axis = wrap_real_dim(dim, input.ndim)
    inner = Layout.contiguous((input.shape[axis],))
    try:
        shape = sized(inner, tuple(sizes))
    except RuntimeError:
        raise ShapeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {axis}"
            f" ({input.shape[axis]}) in the input tensor"
        ) from None
    return input.reshape((*input.shape[:axis], *shape, *input.shape[axis + 1 :]))


@composite(samples=lambda rng: [((normal(rng, 2, 3),), {})])
def ravel(input):
    "All elements in one dimension."
    return input.reshape((-1,))
