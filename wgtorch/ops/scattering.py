"""Writing elements where index tensors say. On a GPU most of these are one shader, scatter.wgsl.

The result begins as a copy of the input (or, in place, as the input itself); then each element of a
source is joined with what is there. Where several elements meet in one place, integers come out the
same every time. Floats are joined by atomics in an order nobody knows (many in few places first
within workgroups: tallies.py), so the last bits of sums may differ from run to run; and of several
elements that replace one, any may be the one that stays (under `use_deterministic_algorithms` they
are brought together first, and the last one stays). Whole rows of floats are added in order
(rows.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.determinism import are_deterministic_algorithms_enabled
from wgtorch.dtype import DType, bool_, int64
from wgtorch.layout import Layout, wrap_dim
from wgtorch.op import Facts, Index, Pass, Structured, composite, declare
from wgtorch.ops.grouping import Meeting, grouped
from wgtorch.ops.indexing import (
    INDEX_DTYPES,
    aligned_base,
    axes,
    beyond,
    rows,
)  # fmt: skip
from wgtorch.ops.samples import normal
from wgtorch.ops.tallies import tallied
from wgtorch.storage import View

GROUP, MAX_GROUPS = 256, 65535
REPLACE, ADD = "b", "a + b"
MERGES = {  # how an element b joins the a that is there
    "replace": REPLACE, "sum": ADD, "mean": ADD, "prod": "a * b", "amax": "maximum(a, b)",
    "amin": "minimum(a, b)",
}  # fmt: skip
UFUNCS = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
          "mean": np.add}  # fmt: skip
FROM_THE_END = ("index", "index_put", "index_fill", "put")  # they take negative indices


def lowest_index(op: str, size: int) -> int:
    """The least index that an op takes."""
    return -size if op in FROM_THE_END else 0


def has_atomics(dtype: DType, how: str) -> bool:
    """Whether elements that meet can be joined without bringing them together first."""
    merge = MERGES[how]
    ordered = merge == REPLACE or (dtype.category > 1 and how in ("sum", "prod", "mean"))
    if ordered and are_deterministic_algorithms_enabled():
        return False
    return dtype.itemsize < 8 or merge == REPLACE or (dtype is int64 and merge == ADD)


def pushed(facts: Facts, how: str, base: Layout, index: Layout) -> list[Pass]:
    """The pass that writes a source, each element as its thread comes to it."""
    merge, count = MERGES[how], base.numel
    if not count:
        return []
    layout, source, dim = axes(facts.out), facts.layouts[2], facts.attrs["dim"]
    size, name = layout.shape[dim], facts.attrs["name"]
    step = Pass(
        "scatter.wgsl",
        (min(-(-count // GROUP), MAX_GROUPS), 1, 1),
        (count, layout.strides[dim], size, lowest_index(name, size)),
        ("index", "source"),
        front=("elementwise.wgsl",),
        places=(("base", base), ("index", index), ("source", source)),
        merge=merge,
        complaint=beyond(name, dim, size),
    )
    return tallied(facts, step, base, dim) if merge == ADD else [step]


def about(facts: Facts, how: str) -> tuple[int, int, str, str]:
    """What a Meeting ends with."""
    dim, name = facts.attrs["dim"], facts.attrs["name"]
    size = axes(facts.out).shape[dim]
    return size, lowest_index(name, size), MERGES[how], beyond(name, dim, size)


# With an index of as many dimensions as the input


def scattered(input, index, source, dim: int, name: str, how: str) -> np.ndarray:
    """The reference: `input` with `source` joined in at `index`."""
    shape = input.shape
    out = input if input.ndim else input[None]
    index, source = (a if a.ndim else a[None] for a in (index, source))
    if index.size:
        index = rows(name, index, out.shape[dim], dim)
        places: list[Any] = list(np.indices(index.shape, sparse=True))
        places[dim] = index
        join(out, tuple(places), source, how)
    return out.reshape(shape)


def join(out: np.ndarray, places: tuple, source: np.ndarray, how: str) -> None:
    if how == "replace":
        out[places] = source
    elif out.dtype == bool and how in ("sum", "mean"):
        np.logical_or.at(out, places, source)
    else:
        UFUNCS[how].at(out, places, source.astype(out.dtype, copy=False))


def scatter_plan(how: str | None = None):
    def plan(facts: Facts):
        dim, index, source = facts.attrs["dim"], facts.layouts[1], facts.layouts[2]
        out, joined = axes(facts.out), how or facts.attrs["how"]
        base = aligned_base(out, dim, axes(index).shape)
        if has_atomics(facts.out_dtypes[0], joined):
            return pushed(facts, joined, base, index)
        one = Layout.contiguous(())
        meeting = Meeting(index, base, out.strides[dim], out.numel, one, 1, one, source,
                          *about(facts, joined))  # fmt: skip
        return grouped(facts, meeting)

    return plan


def scatter_samples(*more):
    def samples(rng):
        distinct = np.stack([rng.permutation(3) for _ in range(4)], 1)
        yield (normal(rng, 3, 4), distinct, normal(rng, 3, 4), 0, "scatter", *more), {}
        yield (normal(rng, 4, 5).T, distinct.T, normal(rng, 4, 3), 1, "scatter", *more), {}

    return samples


SCATTERS: dict[str, Any] = {
    "shape": lambda input, *_, **attrs: input,
    "dtype": lambda input, *_, **attrs: input,
    "promotes": False,
    "starts_as": "input",
    "torch": "none",
}


@declare(
    Structured,
    **SCATTERS,
    plan=scatter_plan("replace"),
    vjp={
        "input": lambda grad, index, dim, name: grad._scatter(
            index, grad.new_zeros(()).expand(index.layout.shape), dim, name
        ),
        "source": lambda grad, index, dim: grad.gather(dim, index),
    },
    samples=scatter_samples(),
    complex=True,
)
def _scatter(input, index: Index, source, dim: int, name: str):
    "`input` with `source`, of the index's shape, put where `index` says along `dim`."
    return scattered(input, index, source, dim, name, "replace")


@declare(
    Structured,
    **SCATTERS,
    plan=scatter_plan("sum"),
    vjp={
        "input": lambda grad: grad,
        "source": lambda grad, index, dim: grad.gather(dim, index),
    },
    samples=scatter_samples(),
    complex=True,
)
def _scatter_add(input, index: Index, source, dim: int, name: str):
    "`input` plus `source`, of the index's shape, where `index` says along `dim`."
    return scattered(input, index, source, dim, name, "sum")


def merge_grad_input(grad, input, index, source, result, dim, name, how):
    if how == "prod":
        nonzero = input.masked_fill(input == 0, 1)
        return grad * nonzero._scatter_merge(index, source, dim, name, how) / nonzero
    mine = (input == result).to(grad.dtype)
    return grad / winners(mine, index, source, result, dim, name) * mine


def merge_grad_source(grad, input, index, source, result, dim, name, how):
    if how != "prod":
        theirs = (source == result.gather(dim, index)).to(grad.dtype)
        mine = (input == result).to(grad.dtype)
        share = grad / winners(mine, index, source, result, dim, name)
        return share.gather(dim, index) * theirs
    zero = source == 0
    zeros = grad.new_zeros(grad.layout.shape)._scatter_add(index, zero.to(grad.dtype), dim, name)
    alone = zero & (zeros.gather(dim, index) == 1)  # without it, the product is not 0
    others = input._scatter_merge(index, source.masked_fill(alone, 1), dim, name, how)
    usual = (grad * result).gather(dim, index) / source.masked_fill(zero, 1)
    return (grad * others).gather(dim, index).where(alone, usual)


def winners(mine, index, source, result, dim, name):
    """How many elements share each largest (or smallest) one."""
    theirs = (source == result.gather(dim, index)).to(mine.dtype)
    return mine._scatter_add(index, theirs, dim, name)


@declare(
    Structured,
    **SCATTERS,
    plan=scatter_plan(),
    vjp={"input": merge_grad_input, "source": merge_grad_source},
    samples=lambda rng: [
        (args, {"how": how})
        for how in ("prod", "amax", "amin")
        for args, _ in scatter_samples()(rng)
    ],
)
def _scatter_merge(input, index: Index, source, dim: int, name: str, how: str):
    '`input` joined with `source` by "prod", "amax" or "amin" where `index` says along `dim`.'
    return scattered(input, index, source, dim, name, how)


# What users call


def check_scatter(input, dim: int, index, src=None) -> int:
    """PyTorch's complaints; the dim counted from the front."""
    dim = wrap_dim(dim, input.ndim)
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype is not input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.numel():
        return dim
    have, want = (t.layout.shape or (1,) for t in (input, index))
    if len(have) != len(want):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    given = None if src is None else src.layout.shape or (1,)
    if given is not None and len(given) != len(want):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    too_big = any(d != dim and n > have[d] for d, n in enumerate(want))
    if given is not None and any(n > m for n, m in zip(want, given, strict=True)):
        too_big = True
    if too_big:
        size = f" and to be no larger size than src {list(given)}" if given is not None else ""
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)}"
            f" apart from dimension {dim}{size}"
        )
    return dim


def fitted(src, index):
    """As much of `src` as the index asks for."""
    if not index.numel():
        return src.reshape((-1,))._slice(0, 0, 0).reshape(index.layout.shape)
    for d, (have, want) in enumerate(zip(src.layout.shape, index.layout.shape, strict=False)):
        if want < have:
            src = src._slice(d, 0, want)
    return src.reshape(index.layout.shape)


SCATTER_REDUCTIONS = {"add": "sum", "multiply": "prod"}


def scatter_form(*more):
    def samples(rng):
        distinct = np.stack([rng.permutation(3) for _ in range(4)], 1)
        yield (normal(rng, 3, 4), 0, distinct, normal(rng, 3, 4), *more), {}
        yield (normal(rng, 3, 4), 1, distinct[:2, :2], normal(rng, 3, 4), *more), {}

    return samples


@composite(inplace=True, takes_over=True, apart="all", samples=scatter_form())
def scatter(input, dim: int, index, src=None, *, value=None, reduce: str | None = None):
    """`input` with the elements of `src` (or one number) put where `index` says along `dim`.

    `reduce="add"` or `"multiply"` joins them with what is there.
    """
    if reduce is not None and reduce not in SCATTER_REDUCTIONS:
        raise RuntimeError("reduce argument must be either add or multiply.")
    source = value if src is None else src
    if isinstance(source, View):
        dim = check_scatter(input, dim, index, source)
        source = fitted(source, index)
    else:
        dim = check_scatter(input, dim, index)
        source = input.new_full((), source).expand(index.layout.shape)
    if reduce == "add":
        return input._scatter_add(index, source, dim, "scatter")
    if reduce == "multiply":
        return input._scatter_merge(index, source, dim, "scatter", "prod")
    return input._scatter(index, source, dim, "scatter")


@composite(inplace=True, takes_over=True, apart="all", samples=scatter_form())
def scatter_add(input, dim: int, index, src):
    """`input` with the elements of `src` added where `index` says along `dim`.

    On webgpu, sums of floats are added in any order: their last bits may differ from run to run.
    """
    if not isinstance(src, View):
        raise TypeError(
            f"scatter_add(): argument 'src' (position 3) must be Tensor, not {type(src).__name__}"
        )
    dim = check_scatter(input, dim, index, src)
    return input._scatter_add(index, fitted(src, index), dim, "scatter_add")


@composite(
    inplace=True,
    takes_over=True,
    apart="all",
    samples=lambda rng: [
        (args, {"include_self": own})
        for how in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
        for args, _ in scatter_form(how)(rng)
    ],
)
def scatter_reduce(input, dim: int, index, src, reduce: str, *, include_self: bool = True):
    """`input` with the elements of `src` joined in where `index` says along `dim`.

    `reduce`: "sum", "prod", "mean", "amax" or "amin". Without `include_self`, what was in those
    places has no say.
    """
    if reduce not in UFUNCS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    dim = check_scatter(input, dim, index, src)
    src, name = fitted(src, index), "scatter_reduce"
    base = input
    if not include_self:
        start = input.new_full((), neutral(reduce, input.dtype)).expand(index.layout.shape)
        base = input._scatter(index, start, dim, name)
    if reduce == "sum":
        return base._scatter_add(index, src, dim, name)
    if reduce != "mean":
        return base._scatter_merge(index, src, dim, name, reduce)
    count = input.new_full(input.layout.shape, int(include_self))
    ones = input.new_full((), 1).expand(index.layout.shape)
    count = count._scatter_add(index, ones, dim, name).clamp_min(1)
    total = base._scatter_add(index, src, dim, name)
    return total / count if input.is_floating_point() else total // count


def neutral(how: str, dtype) -> Any:
    """What changes nothing when joined by `how`."""
    if how not in ("amax", "amin"):
        return 1 if how == "prod" else 0
    if dtype.is_floating_point:
        return float("-inf" if how == "amax" else "inf")
    if dtype is bool_:
        return how == "amin"
    limits = np.iinfo(dtype.np)
    return int(limits.min if how == "amax" else limits.max)
