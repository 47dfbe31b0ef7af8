"""vmap: a function of one sample, run on a whole batch at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wgtorch.autograd.transforms import level, trees
from wgtorch.autograd.transforms.batch import BatchBackend, device_of
from wgtorch.autograd.transforms.level import levels
from wgtorch.storage import View


class Batching:
    """One vmap under way."""

    kind = BatchBackend

    def __init__(self, size: int, randomness: str):
        self.size, self.randomness, self.number = size, randomness, 0

    def __enter__(self) -> Batching:
        levels.enter(self)
        return self

    def __exit__(self, *exception: object) -> None:
        levels.leave(self)

    def wrapped(self, tensor: Any, dim: int) -> Any:
        """A tensor of a level below, `dim` of which is the batch."""
        device = device_of(self.number, tensor.storage.value.device)
        return device.backend.batched(tensor, dim)

    def is_batched(self, tensor: Any) -> bool:
        device = tensor.storage.value.device
        return device.level == self.number and tensor.storage.value.buffer.size is not None

    def unwrapped(self, tensor: Any, dim: int) -> Any:
        """What is held, the batch at `dim`; repeated where all samples have the same."""
        if level.level_of(tensor) == self.number:
            backend = tensor.storage.value.device.backend
            tensor = backend.whole(tensor, self.size)
        else:
            tensor = tensor.unsqueeze(0).expand((self.size, *tensor.layout.shape))
        return tensor if not dim else tensor.movedim(0, dim)

    def shared(self, tensor: Any) -> Any:
        """What is held, of a tensor that is the same for all samples."""
        if level.level_of(tensor) == self.number:
            return tensor.storage.value.device.backend.below(tensor)
        return tensor


def vmap(
    func: Callable,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """A function that does what `func` does for each sample of a batch, all samples at once.

    `in_dims` says which dimension of each input is the batch (None: the input is the same for all
    samples), `out_dims` where it goes in each output; both may be trees like the arguments.
    Random ops raise, or draw the "same" numbers for all samples, or "different" ones, as
    `randomness` says. With `chunk_size`, so many samples at a time.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got"
            f" {randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def run(*args: Any, **kwargs: Any) -> Any:
        check_out_dims(out_dims, func)
        given = Inputs(func, in_dims, args)
        if chunk_size is None or chunk_size >= given.size:
            return once(func, given, out_dims, randomness, kwargs)
        return in_chunks(func, given, out_dims, randomness, chunk_size, kwargs)

    functools.update_wrapper(run, func, updated=())  # a module has more in its __dict__
    return run


def once(func: Callable, given: Inputs, out_dims: Any, randomness: str, kwargs: dict) -> Any:
    with Batching(given.size, randomness) as batching:
        args = given.wrapped(batching)
        return taken_out(batching, func(*args, **kwargs), out_dims, func)


def in_chunks(
    func: Callable, given: Inputs, out_dims: Any, randomness: str, chunk: int, kwargs: dict
) -> Any:
    rows, shape = [], trees.LEAF
    for start in range(0, given.size, chunk):
        part = once(func, given.narrowed(start, chunk), out_dims, randomness, kwargs)
        leaves, shape = trees.flattened(part)
        rows.append(leaves)
    dims = out_dims_for(shape, out_dims, func)
    columns = zip(*rows, strict=True)
    joined = [
        column[0] if dim is None else level.doors["cat"](list(column), dim)
        for column, dim in zip(columns, dims, strict=True)
    ]
    return shape.filled(joined)


# Inputs


class Inputs:
    """The arguments of a vmapped function, checked; the errors are PyTorch's."""

    def __init__(self, func: Callable, in_dims: Any, args: tuple):
        self.func, self.in_dims = func, in_dims
        name = name_of(func)
        if not isinstance(in_dims, int | tuple):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a"
                f" (potentially nested) tuple matching the structure of inputs, got:"
                f" {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are"
                f" trying to vmap over a function with no inputs. The latter is unsupported."
            )
        self.leaves, self.shape = trees.flattened(args)
        dims = trees.spread(in_dims, self.shape, is_dim)
        if dims is None:
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with"
                f" the structure of `inputs`. in_dims has structure {trees.flattened(in_dims)[1]}"
                f" but inputs has structure {self.shape}."
            )
        pairs = zip(dims, self.leaves, strict=True)
        self.dims = [self.checked(dim, leaf) for dim, leaf in pairs]
        self.size = self.common_size()

    def checked(self, dim: Any, leaf: Any) -> int | None:
        said = (
            f"vmap({name_of(self.func)}, in_dims={self.in_dims}, ...)(<inputs>): Got in_dim={dim}"
        )
        if dim is None:
            return None
        if not isinstance(dim, int):
            raise ValueError(
                f"{said} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, View):
            raise ValueError(
                f"{said} for an input but the input is of type {type(leaf)}. We cannot vmap over"
                f" non-Tensor arguments, please use None as the respective in_dim"
            )
        rank = len(leaf.layout.shape)
        if not -rank <= dim < rank:
            raise ValueError(
                f"{said} for some input, but that input is a Tensor of dimensionality {rank} so"
                f" expected in_dim to satisfy -{rank} <= in_dim < {rank}."
            )
        return dim % rank

    def common_size(self) -> int:
        pairs = zip(self.leaves, self.dims, strict=True)
        sizes = [leaf.layout.shape[dim] for leaf, dim in pairs if dim is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if any(size != sizes[0] for size in sizes):
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got"
                f" sizes {sizes} for the mapped dimension"
            )
        return sizes[0]

    def wrapped(self, batching: Batching) -> Any:
        return self.shape.filled(
            leaf if dim is None else batching.wrapped(leaf, dim)
            for leaf, dim in zip(self.leaves, self.dims, strict=True)
        )

    def narrowed(self, start: int, length: int) -> Inputs:
        """Only some of the samples."""
        part = object.__new__(Inputs)
        part.func, part.in_dims, part.shape, part.dims = (
            self.func,
            self.in_dims,
            self.shape,
            self.dims,
        )
        part.size = min(length, self.size - start)
        part.leaves = [
            leaf if dim is None else leaf.narrow(dim, start, part.size)
            for leaf, dim in zip(self.leaves, self.dims, strict=True)
        ]
        return part


def is_dim(tree: Any) -> bool:
    return not isinstance(tree, tuple | list | dict)


def name_of(func: Callable) -> str:
    if hasattr(func, "__name__"):
        return func.__name__
    if isinstance(func, functools.partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    return repr(func)


# Outputs


def check_out_dims(out_dims: Any, func: Callable) -> None:
    for dim in trees.flattened(out_dims)[0]:
        if dim is not None and not isinstance(dim, int):
            raise ValueError(
                f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None"
                f" or a python collection of ints representing where in the outputs the vmapped"
                f" dimension should appear."
            )


def out_dims_for(shape: trees.Shape, out_dims: Any, func: Callable) -> list[int | None]:
    if shape.kind is None and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = trees.spread(out_dims, shape, is_dim)
    if dims is None:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible"
            f" with the structure of `outputs`. out_dims has structure"
            f" {trees.flattened(out_dims)[1]} but outputs has structure {shape}."
        )
    return dims


def taken_out(batching: Batching, outputs: Any, out_dims: Any, func: Callable) -> Any:
    leaves, shape = trees.flattened(outputs)
    dims = out_dims_for(shape, out_dims, func)
    return shape.filled(
        [one_out(batching, o, d, name_of(func)) for o, d in zip(leaves, dims, strict=True)]
    )


def one_out(batching: Batching, output: Any, dim: int | None, name: str) -> Any:
    if dim is None:
        if isinstance(output, View) and batching.is_batched(output):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return batching.shared(output) if isinstance(output, View) else output
    if not isinstance(output, View):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did"
            f" you mean to set out_dims= to None for output?"
        )
    rank = len(output.layout.shape) + 1
    return batching.unwrapped(output, dim % rank if -rank <= dim < rank else dim)
