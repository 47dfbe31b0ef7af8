"""Ops of the cpu on large tensors: each thread computes a part of the result.

A part is a range of elements where all operands lie row by row, else a range of the first
dimension. A formula of several steps is computed a block at a time: what one step hands to the next
then stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from wgtorch.arrays import seen
from wgtorch.backends.formulas import formula
from wgtorch.backends.threads import share
from wgtorch.layout import wrap_dim
from wgtorch.op import REGISTRY, Draw, Elementwise, Join, Rowwise
from wgtorch.philox import blocks
from wgtorch.settings import get_num_threads
from wgtorch.settled import Call, Fold, TypedOp

MANY = 1 << 20  # elements: fewer are done before another thread has woken up
SOME = 1 << 18  # the same, of a formula of several steps
BLOCK = 1 << 18  # elements of a block
FEWEST = 1 << 17  # elements of a range

Arrays = Sequence[Any]  # numpy's arrays, and numbers


def parts(numel: int) -> int:
    return numel // FEWEST


def computed(typed: TypedOp, arrays: Arrays, attrs: dict[str, Any],
             shape: tuple[int, ...]) -> np.ndarray | None:  # fmt: skip
    """An elementwise op's result, in memory of its own; None where it is not to be shared: few
    elements, or a function of users, who may not expect it."""
    op, numel = typed.op, prod(shape)
    if type(op) is not Elementwise or get_num_threads() < 2:
        return None
    steps = formula(typed, attrs)
    if numel < MANY and (op.casts or (steps and steps.ufunc)):
        return None
    result = np.empty(shape, typed.dtype.np)
    if op.casts:
        write(result, arrays[0])
    elif steps and steps.ufunc:
        fill(steps.ufunc, arrays, result)
    else:
        target, arrays = laid(result, arrays)
        cut = cutter(arrays, target)

        def block(start: int, stop: int) -> None:
            if steps:
                steps.compute(cut(start, stop), target[start:stop])
            else:
                target[start:stop] = op.reference(*cut(start, stop), **attrs)

        share(len(target), parts(numel), in_blocks(block, len(target), numel))
    return result


def drawn(op: Draw, seed: int, offset: int, count: int) -> np.ndarray:
    """The numbers of a draw, whose every block of four depends on its own place alone."""
    result = np.empty(count, op.dtype.np)

    def do(start: int, stop: int) -> None:
        part = result[start * 4 : stop * 4]
        part[...] = op.reference(seed, offset + start, len(part))

    share(blocks(count), parts(count), do)
    return result


def fill(ufunc: np.ufunc, arrays: Arrays, result: np.ndarray) -> None:
    """The ufunc of arrays, one of which the result may be."""
    target, arrays = laid(result, arrays)
    cut = cutter(arrays, target)

    def do(start: int, stop: int) -> None:
        ufunc(*cut(start, stop), out=target[start:stop])

    share(len(target), parts(result.size), do)


def write(result: np.ndarray, array: Any) -> None:
    """`result[...] = array`, which lies elsewhere."""
    target, arrays = laid(result, (array,))
    cut = cutter(arrays, target)

    def do(start: int, stop: int) -> None:
        (target[start:stop],) = cut(start, stop)

    share(len(target), parts(result.size), do)


def converted(array: np.ndarray, kind: np.dtype) -> np.ndarray:
    """`array.astype(kind)`."""
    result = np.empty_like(array, kind)  # it lies as the array does
    write(result, array)
    return result


def laid(result: np.ndarray, arrays: Arrays) -> tuple[np.ndarray, Arrays]:
    """Both as vectors, where all lie row by row."""
    shape, all_of_them = result.shape, (result, *arrays)
    if not all([not a.shape or (a.shape == shape and a.flags.c_contiguous) for a in all_of_them]):
        return result, arrays
    return result.reshape(-1), [a.reshape(-1) if a.shape else a for a in arrays]


def cutter(arrays: Arrays, like: np.ndarray) -> Callable[[int, int], list[Any]]:
    """What gives a range of arrays that broadcast to another: of its first dimension."""
    whole = [len(a.shape) < like.ndim or len(a) < len(like) for a in arrays]

    def cut(start: int, stop: int) -> list[Any]:
        return [a if w else a[start:stop] for a, w in zip(arrays, whole, strict=True)]

    return cut


def in_blocks(do: Callable[[int, int], None], size: int, numel: int) -> Callable[[int, int], None]:
    step = max(1, BLOCK * size // numel)

    def by_blocks(start: int, stop: int) -> None:
        for at in range(start, stop, step):
            do(at, min(at + step, stop))

    return by_blocks


def folded(fold: Fold, array: np.ndarray) -> Any:
    """A reduction's result, or results; of the cpu's own ops, as users declare none."""
    if 0 not in fold.dims:
        return folded_by_rows(fold, array)
    op, attrs = fold.op, fold.attrs
    if not divisible(op):
        return op.reference(array, **attrs)
    whole = op if op.leave == "a" else REGISTRY["sum"]  # of which a mean is made
    left = {}

    def slab(start: int, stop: int) -> None:
        left[start] = whole.reference(array[start:stop], fold.dims, True)

    share(len(array), parts(array.size), slab)
    slabs = np.concatenate([left[start] for start in sorted(left)])
    result = whole.reference(slabs, fold.dims, attrs["keepdim"])
    return result if whole is op else result / np.float64(fold.count)


def divisible(op: Any) -> bool:
    """Whether a reduction of what is left of parts is that of the whole, and worth it: one that
    looks for a bool ends with the first."""
    if op.folds == "bool" or op.enter != "x" or op.arg or op.state or op.outputs:
        return False
    return op.leave == "a" or (op.leave == "a / count" and op.combine == "a + b")


def folded_by_rows(fold: Fold, array: np.ndarray) -> Any:
    op, attrs = fold.op, fold.attrs
    results = [np.empty(fold.out.shape, dtype.np) for dtype in fold.dtypes]

    def rows(start: int, stop: int) -> None:
        made = op.reference(array[start:stop], **attrs)
        for result, part in zip(results, made if op.outputs else (made,), strict=True):
            result[start:stop] = part

    share(len(array), parts(array.size), rows)
    return results if op.outputs else results[0]


def way(call: Call) -> Callable[[Call, Arrays], Any] | None:
    """What computes the result, or results, of a structured op in parts; None for small ones, and
    where no part can be computed by itself.

    `by_first` of an op says where each index of the first dimension of all inputs and results
    stands alone: True, or "dim" where the attribute `dim` is another one; "index" where each index
    of the second input takes a slice of the first, along `dim`."""
    op = call.op
    if isinstance(op, Join):
        return joined if call.outs[0].numel >= MANY else None
    if op.by_first == "index":
        return by_index if call.outs[0].numel >= MANY and call.attrs["dim"] == 0 else None
    if not (isinstance(op, Rowwise) or op.by_first) or elements(call) < SOME:
        return None
    if isinstance(op, Rowwise):
        alone = 0 not in op.dims(call.layouts[0].shape, **call.attrs)
    elif op.by_first == "dim":
        alone = wrap_dim(call.attrs["dim"], len(call.layouts[0].shape)) != 0
    else:  # windows: of large ones many steps are taken, each on few elements
        alone = min(call.layouts[0].numel, call.outs[0].numel) >= SOME // 4
    return by_rows if alone else None


def elements(call: Call) -> int:
    """Of the first input or the first result, whichever has more."""
    return max(call.layouts[0].numel, call.outs[0].numel)


def by_rows(call: Call, arrays: Arrays) -> Any:
    """An op that works out each index of the first dimension by itself."""
    op, numel = call.op, elements(call)
    kinds = zip(call.outs, call.out_dtypes, strict=True)
    results = [np.empty(out.shape, dtype.np) for out, dtype in kinds]
    given = [place for place, array in enumerate(arrays) if array is not None]
    cut = cutter([arrays[place] for place in given], arrays[0])

    def block(start: int, stop: int) -> None:
        ranges: list[Any] = [None] * len(arrays)
        for place, array in zip(given, cut(start, stop), strict=True):
            ranges[place] = array
        made = op.invoke(ranges, call.attrs)
        for result, part in zip(results, made if op.outputs else (made,), strict=True):
            result[start:stop] = part

    size = len(arrays[0])
    share(size, parts(numel), in_blocks(block, size, numel))
    return results if op.outputs else results[0]


def by_index(call: Call, arrays: Arrays) -> np.ndarray:
    """What an index names of the first dimension of an input."""
    input, index = arrays[0], arrays[1].reshape(-1)
    if not input.ndim or index.min() < 0 or index.max() >= len(input):
        return call.op.invoke(arrays, call.attrs)  # which counts from the end, or complains
    input = np.ascontiguousarray(input)  # else numpy would, for each range
    result = np.empty(call.outs[0].shape, input.dtype)
    rows = result.reshape(len(index), *input.shape[1:])

    def do(start: int, stop: int) -> None:
        np.take(input, index[start:stop], 0, rows[start:stop], "clip")

    share(len(index), parts(result.size), do)
    return result


def joined(call: Call, arrays: Arrays) -> np.ndarray:
    """A Join: each input in its place."""
    op: Any = call.op
    out, layouts = call.outs[0], call.layouts
    if len(layouts) == 1:  # several tensors that are one input
        (layouts,), (arrays,) = layouts, arrays
    result = np.empty(out.shape, call.out_dtypes[0].np)
    flat = result.reshape(-1)
    for place, array in zip(op.places(out, layouts, **call.attrs), arrays, strict=True):
        write(seen(flat, place), array.reshape(place.shape))
    return result
