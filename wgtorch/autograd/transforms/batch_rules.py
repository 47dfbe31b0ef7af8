"""How ops with kernels of their own run on a batch: one rule for each manner of treating axes.

A rule is given what is called and the operands, and returns results with the batch as their first
axis. An op without a rule runs once for each sample, which is said once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from wgtorch.autograd.transforms import level
from wgtorch.autograd.transforms.level import raw
from wgtorch.config import outside
from wgtorch.layout import wrap_dim
from wgtorch.op import Op
from wgtorch.storage import View

Rule = Callable[["Batch"], Any]
RULES: dict[str, Rule] = {}
told: set[str] = set()


class Batch:
    """One call of an op on a batch of `size` samples."""

    def __init__(self, home: Any, call: Any, args: tuple, size: int):
        self.home, self.op, self.attrs, self.size = home, call.op, call.attrs, size
        self.args = dict(zip(call.op.inputs, args, strict=True))
        self.outs = call.outs

    def is_batched(self, name: str) -> bool:
        view = self.args[name]
        return view is not None and view.storage.value.buffer.size is not None

    def shape(self, name: str) -> tuple[int, ...]:
        """Of one sample."""
        return self.args[name].layout.shape

    def below(self, name: str, rank: int | None = None) -> Any:
        view = self.args[name]
        return None if view is None else self.home.below(view, rank)

    def whole(self, name: str) -> Any:
        return mapped(self.args[name], lambda view: self.home.whole(view, self.size))

    def wholes(self) -> dict[str, Any]:
        return {name: self.whole(name) for name in self.args}

    def run(self, inputs: dict[str, Any], **attrs: Any) -> Any:
        return raw[self.op](**inputs, **(self.attrs | attrs))


def run(home: Any, call: Any, args: tuple, size: int) -> tuple:
    rule = RULES.get(call.op.name)
    batch = Batch(home, call, args, size)
    result = one_by_one(batch) if rule is None else rule(batch)
    return result if call.op.outputs else (result,)


def called(op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> tuple:
    result = raw[op](**dict(zip(op.inputs, args, strict=True)), **attrs)
    return result if op.outputs else (result,)  # type: ignore[attr-defined]


def mapped(given: Any, change: Callable[[Any], Any]) -> Any:
    """With every tensor changed."""
    if isinstance(given, View):
        return change(given)
    return tuple([mapped(g, change) for g in given]) if isinstance(given, tuple) else given


def tell(op: str, size: int) -> None:
    """Says once that an op, by its public name, takes as long as the batch is large."""
    if not size:
        raise RuntimeError(f"vmap: {op}: the fallback path does not support dims of size 0")
    if op not in told:
        told.add(op)
        what, gradient, _ = op.partition("_backward")
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule for"
            f" {'the gradient of ' * bool(gradient)}{what}, which runs once for each sample. Where"
            " that takes too long, please call it outside of vmap.",
            UserWarning,
            stacklevel=outside(),
        )


def one_by_one(batch: Batch) -> Any:
    """Runs each sample on its own and stacks the results."""
    op = batch.op
    tell(op.name.strip("_"), batch.size)
    wholes = batch.wholes()
    rows = []
    for i in range(batch.size):
        sample = {name: mapped(t, lambda t: t.select(0, i)) for name, t in wholes.items()}  # noqa: B023
        row = batch.run(sample)
        rows.append(row if op.outputs else (row,))
    stacked = [level.doors["_stack"](tuple(column), 0) for column in zip(*rows, strict=True)]
    return tuple(stacked) if op.outputs else stacked[0]


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


# Along a dim: the batch is one more axis in front


@rule("_cumsum", "_cumprod", "_logcumsumexp", "cummax", "cummin", "_recurrence", "_softmax",
      "_log_softmax", "_softmax_backward", "_log_softmax_backward", "_sort", "_few", "gather",
      "_scatter", "_scatter_add", "_scatter_merge", "_cat", "slice_scatter",
      "select_scatter")  # fmt: skip
def along(batch: Batch) -> Any:
    wholes = batch.wholes()
    first = next(iter(batch.args.values()))
    rank = len((first[0] if isinstance(first, tuple) else first).layout.shape)
    if rank:
        return batch.run(wholes, dim=wrap_dim(batch.attrs["dim"], rank) + 1)
    result = batch.run({n: mapped(t, lambda t: t.unsqueeze(1)) for n, t in wholes.items()}, dim=1)
    parts = result if batch.op.outputs else (result,)
    parts = tuple([part.reshape((batch.size,)) for part in parts])
    return parts if batch.op.outputs else parts[0]


@rule("_stack")
def along_new(batch: Batch) -> Any:
    rank = len(batch.args["tensors"][0].layout.shape) + 1
    return batch.run(batch.wholes(), dim=wrap_dim(batch.attrs["dim"], rank) + 1)


@rule("_fourier")
def fourier(batch: Batch) -> Any:
    tables = {name: batch.below(name) for name in ("roots", "chirp", "kernel")}
    dim = wrap_dim(batch.attrs["dim"], len(batch.shape("input"))) + 1
    return batch.run({"input": batch.whole("input"), **tables}, dim=dim)


@rule("_resample")
def resample(batch: Batch) -> Any:
    inputs = {"input": batch.whole("input"), "bands": batch.below("bands")}
    return batch.run(inputs, dim=batch.attrs["dim"] + 1)


@rule("diagonal_scatter")
def diagonal_scatter(batch: Batch) -> Any:
    rank = len(batch.shape("input"))
    dims = {n: wrap_dim(batch.attrs[n], rank) + 1 for n in ("dim1", "dim2")}
    return batch.run(batch.wholes(), **dims)


@rule("_inset")
def inset(batch: Batch) -> Any:
    return batch.run(batch.wholes(), starts=tuple([(0, *s) for s in batch.attrs["starts"]]))


@rule("tril", "triu", "_cholesky", "_cholesky_ex", "_qr", "_lu_factor", "_permutation", "_inv",
      "_inv_ex", "_adjugate", "_det", "_linalg_slogdet", "_svd", "_svdvals", "_eigh",
      "_quantize", "_quantize_pairs", "_margins", "_margins_backward", "_poisson", "_binomial",
      "_draw_log_gamma")  # fmt: skip
def in_front(batch: Batch) -> Any:
    """Only the last dimensions count: any number may stand in front of them."""
    return batch.run(batch.wholes())


@rule("_joint_index")
def aligned(batch: Batch) -> Any:
    """Elementwise in its manner: what broadcasts, broadcasts from the right."""
    rank = len(batch.outs[0].shape)
    return batch.run({name: batch.below(name, rank) for name in batch.args})


@rule("_require")
def require(batch: Batch) -> Any:
    batch.run({"holds": batch.whole("holds").all()})
    return batch.whole("holds").new_zeros((batch.size, 0))


@rule("_max_pool_backward", "_max_pool_pick", "_max_pool_indices", "_max_pool", "_max_pool_value",
      "_avg_pool_backward", "_avg_pool", "_adaptive_avg_pool_backward", "_adaptive_avg_pool",
      "_adaptive_max_places", "_blend", "_blend_push", "_blend_weights")  # fmt: skip
def over_planes(batch: Batch) -> Any:
    """Only the last two dimensions count: the batch is merged into the first."""
    folded = {name: folded_in(t) for name, t in batch.wholes().items()}
    result = batch.run(folded)
    parts = result if batch.op.outputs else (result,)
    parts = tuple(
        [p.reshape((batch.size, *o.shape)) for p, o in zip(parts, batch.outs, strict=True)]
    )
    return parts if batch.op.outputs else parts[0]


@rule("_class_loss", "_class_loss_backward")
def by_class(batch: Batch) -> Any:
    """The classes are the second dimension of samples in a batch, the only one without."""
    return over_planes(batch) if batch.shape("index") else batch.run(batch.wholes())


def folded_in(tensor: Any) -> Any:
    shape = tensor.layout.shape
    return tensor.reshape((shape[0] * shape[1], *shape[2:]))


@rule("_true_elements")
def true_elements(batch: Batch) -> Any:
    """The mask is one for all: a batch of them would not have told how many hold."""
    places = batch.below("mask")._true_places(batch.below("starts"), batch.attrs["total"])
    return batch.whole("input").reshape((batch.size, -1))._index(places, 1)


@rule("_solve", "_solve_triangular")
def solve(batch: Batch) -> Any:
    if len(batch.shape("A")) == len(batch.shape("B")):
        return batch.run(batch.wholes())
    return one_by_one(batch)


# Rows


@rule("_layer_norm")
def layer_norm(batch: Batch) -> Any:
    rank = len(batch.shape("input")) + 1
    inputs = {"input": batch.whole("input"), "weight": None, "bias": None}
    if not batch.is_batched("weight") and not batch.is_batched("bias"):
        return batch.run(inputs | {n: batch.below(n) for n in ("weight", "bias")})
    out, mean, rstd = batch.run(inputs)
    weight, bias = batch.below("weight", rank - 1), batch.below("bias", rank - 1)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, rstd


# Products


@rule("mm", "bmm", "_matmul")
def product(batch: Batch) -> Any:
    x, y = batch.op.inputs
    return level.doors["matmul"](batch.below(x), batch.below(y))


@rule("mv")
def matrix_vector(batch: Batch) -> Any:
    matrix, vec = batch.below("input"), batch.below("vec")
    if not batch.is_batched("input"):
        return vec.mm(matrix.t())
    if not batch.is_batched("vec"):
        return matrix.matmul(vec)
    return matrix.matmul(vec.unsqueeze(-1)).squeeze(-1)


@rule("linear")
def linear(batch: Batch) -> Any:
    rank = len(batch.shape("input"))
    x, weight, bias = batch.whole("input"), batch.below("weight"), batch.below("bias", rank)
    x = x.contiguous()  # its rows are seen as those of one matrix
    if not batch.is_batched("weight") and not batch.is_batched("bias"):
        return batch.run({"input": x, "weight": weight, "bias": bias})
    if batch.is_batched("weight"):
        rows = x.reshape((batch.size, -1, x.layout.shape[-1])).bmm(weight.transpose(1, 2))
        out = rows.reshape((*x.layout.shape[:-1], weight.layout.shape[1]))
    else:
        out = batch.run({"input": x, "weight": weight, "bias": None})
    return out if bias is None else out + bias


@rule("addmm", "baddbmm")
def add_product(batch: Batch) -> Any:
    start, x, y = batch.op.inputs
    rank = len(batch.outs[0].shape)
    out = level.doors["matmul"](batch.below(x), batch.below(y))
    alpha, beta = batch.attrs["alpha"], batch.attrs["beta"]
    out = out if alpha == 1 else out * alpha
    if beta == 0:
        return out
    added = batch.below(start, rank)
    return out + (added if beta == 1 else added * beta)
