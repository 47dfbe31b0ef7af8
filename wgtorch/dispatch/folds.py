"""The door of reductions. It remembers what was settled for operands like this one.

It lets go of its operand before running: one that nobody else holds need not be stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wgtorch.autograd.mode import state
from wgtorch.autograd.recipe import RECIPES, attach, attach_many, mask_of, noted
from wgtorch.autograd.results import maker
from wgtorch.dispatch.binder import binder, holds_tensor, listed, unfit
from wgtorch.dispatch.views import kinds
from wgtorch.dtype import DType
from wgtorch.layout import Layout, meet, remembered, wrap_dim
from wgtorch.op import Reduction
from wgtorch.settled import Fold, Met
from wgtorch.storage import View

if TYPE_CHECKING:
    from wgtorch.tensor import Tensor

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}  # PyTorch takes them too


def reduction(op: Reduction, tensor: type[Tensor]):
    bind, known, recipes, made = binder(op), Met(), RECIPES[op], maker(tensor)
    flags = op.differentiable or (True,) + (False,) * (len(op.outputs) - 1)

    def call(input, *args, **given):
        if not isinstance(input, View):
            unfit(op, input)
        value = input.storage.value
        # var(True) is not var(1), and sum(1.0) is not sum(1)
        key = (input.layout, value.dtype, args, *map(type, args))
        if given or (args and type(args[0]) is tuple):
            key += (*given.items(), *kinds((*args, *given.values())))
        try:
            settled = known.get(key)
        except TypeError:  # dims in a list
            again, named = listed(args), {name: listed(value) for name, value in given.items()}
            if again == args and named == given:
                raise
            return call(input, *again, **named)
        if settled is None:
            settled = settle(op, bind, input, args, given)
            if not holds_tensor(key):
                known.keep(key, settled)
        fold, cast, last = settled
        input = input if cast is None else input.to(cast)
        wants = (input._wants or input.storage.writes) and state.recording
        node = wants and noted(recipes[mask_of((input,))], (input,), fold.attrs, *fold.facts)
        backend, value = value.device.backend, None
        source = backend.source(input)
        del input
        result = backend.reduction(fold, source)
        if op.outputs:
            outs = [made(value, fold.out) for value in result]
            attach_many(node, outs, flags)
            return op.gather(*outs)
        out = made(result, fold.out)
        if node:
            attach(node, out)
        return out if last is None else out.to(last)

    return call


def settle(
    op: Reduction, bind: Callable, input: Tensor, args: tuple, given: dict[str, Any]
) -> tuple[Fold, Any, Any]:
    """(the fold, the dtype to cast to before it, and after it)."""
    named = {NUMPY_NAMES.get(name, name): value for name, value in given.items()}
    if op.arrange:
        args, named = op.arrange(args, named)
    attrs = bind((input, *args), named)[1]
    layout, dtype, asked = input.layout, input.dtype, attrs.pop("dtype", None)
    before = None if asked is dtype else asked
    if before is not None:
        layout, dtype = meet(layout), before
    fold = settled(op, layout, dtype, attrs)
    return fold, before, None if asked is fold.dtypes[0] else asked


def settled(op: Reduction, layout: Layout, dtype: DType, attrs: dict[str, Any]) -> Fold:
    op.compute_dtype(dtype)  # refuses some
    dim = attrs["dim"]
    if dim == () and op.no_dims == "all":
        dim = None
    for d in dim if type(dim) is tuple else ():
        if type(d) is not int:  # (1.0,) is (1,) to what remembers
            wrap_dim(d, len(layout.shape))
    dims, out = folded(layout, dim, attrs.get("keepdim", False))
    if op.empty and not layout.numel:
        check_empty(op, layout, dims, dim is None)
    return Fold(op, layout, dtype, dims, out, attrs | {"dim": dims})


@remembered
def folded(layout: Layout, dim: Any, keepdim: bool) -> tuple[tuple[int, ...], Layout]:
    """The axes a reduction folds (sorted, never negative), and the layout of what is left."""
    rank = len(layout.shape)
    if dim is None:
        dims = tuple(range(rank))
    else:
        asked = [wrap_dim(d, rank) for d in (dim if isinstance(dim, tuple) else (dim,))]
        dims = tuple(sorted(set(asked)))
        if len(dims) < len(asked):
            twice = next(d for d in dims if asked.count(d) > 1)
            raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
        dims = tuple(d for d in dims if d < rank)
    sizes = [1 if d in dims else n for d, n in enumerate(layout.shape) if keepdim or d not in dims]
    return dims, Layout.contiguous(tuple(sizes))


def check_empty(op: Reduction, layout: Layout, dims: tuple[int, ...], whole: bool) -> None:
    if whole:
        raise (IndexError if op.arg else RuntimeError)(op.empty)
    for d in dims:
        if not layout.shape[d]:
            name = op.name.strip("_").removesuffix("_dim")
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
