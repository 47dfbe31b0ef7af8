"""Indexing of batches: where samples have indices of their own, the batch is merged into the
dimension that is indexed, and each index moves to its sample's part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.autograd.transforms import level
from wgtorch.autograd.transforms.batch_rules import Batch, rule
from wgtorch.dtype import int64
from wgtorch.layout import wrap_dim


@rule("index_select", "_index", "_embedding")
def take(batch: Batch) -> Any:
    dim = wrap_dim(batch.attrs["dim"], max(len(batch.shape("input")), 1))
    if not batch.is_batched("index"):
        inputs = {"input": batch.whole("input"), "index": batch.below("index")}
        if not batch.shape("input"):
            inputs["input"] = inputs["input"].unsqueeze(1)
            return batch.run(inputs, dim=1).reshape((batch.size, *batch.outs[0].shape))
        return batch.run(inputs, dim=dim + 1)
    index = batch.whole("index")
    run: Callable = batch.run if batch.op.name == "_embedding" else by_index
    if not batch.is_batched("input"):
        return run({"input": batch.below("input"), "index": index}, dim=dim).movedim(dim, 0)
    merged = merge(batch.whole("input"), dim + 1)
    given = {"input": merged, "index": shifted(index, batch, dim)}
    padding = batch.attrs.get("padding_idx", -1)
    if padding < 0:
        return part(run(given, dim=0), len(index.layout.shape), dim)
    taken = run(given, dim=0, padding_idx=-1)  # each sample has a row of that number
    return taken.where((index != padding).unsqueeze(-1), taken.bare())


def by_index(inputs: dict[str, Any], dim: int) -> Any:
    return level.doors["_index"](inputs["input"], inputs["index"], dim)


@rule("_index_add", "_index_put")
def put(batch: Batch) -> Any:
    dim = wrap_dim(batch.attrs["dim"], max(len(batch.shape("input")), 1))
    index, source, input = batch.whole("index"), batch.whole("source"), batch.whole("input")
    if not batch.shape("input"):
        input = input.unsqueeze(1)
    count = len(batch.shape("index"))
    if not batch.is_batched("index"):
        inputs = {"input": input, "index": batch.below("index"), "source": source}
        return batch.run(inputs, dim=dim + 1).reshape((batch.size, *batch.outs[0].shape))
    rest = [d for d in range(1, len(source.layout.shape)) if not dim < d <= dim + count]
    source = source.permute((0, *range(dim + 1, dim + 1 + count), *rest))
    inputs = {
        "input": merge(input, dim + 1),
        "index": shifted(index, batch, dim),
        "source": source,
    }
    out = batch.run(inputs, dim=0)
    return part(out.reshape((batch.size, -1, *out.layout.shape[1:])), 2, dim).reshape(
        (batch.size, *batch.outs[0].shape)
    )


def merge(tensor: Any, dim: int) -> Any:
    """(batch, ..., n, ...) as (batch * n, ...)."""
    moved = tensor.movedim(dim, 1)
    shape = moved.layout.shape
    return moved.reshape((shape[0] * shape[1], *shape[2:]))


def part(tensor: Any, count: int, dim: int) -> Any:
    """(batch, `count` - 1 indexed axes, rest) with the indexed axes back at `dim` of a sample."""
    indexed = range(1, count)
    rest = [*range(count, len(tensor.layout.shape))]
    return tensor.permute((0, *rest[:dim], *indexed, *rest[dim:]))


def shifted(index: Any, batch: Batch, dim: int) -> Any:
    """Indices into the merged dimension; of one out of range the sample's own place is named."""
    size = (batch.shape("input") or (1,))[dim]
    sample = index.new_tensor(range(batch.size), dtype=int64)
    sample = sample.reshape((batch.size, *[1] * (len(index.layout.shape) - 1)))
    name = batch.attrs.get("name", batch.op.name.lstrip("_"))
    return level.doors["_joint_index"](sample, index, size, dim, 0, name)


@rule("_searchsorted")
def searchsorted(batch: Batch) -> Any:
    sequence, values = batch.whole("sorted_sequence"), batch.whole("input")
    if len(batch.shape("sorted_sequence")) == 1:
        shape = values.layout.shape
        flat = values.reshape((batch.size, -1))
        return batch.run({"sorted_sequence": sequence, "input": flat}).reshape(shape)
    return batch.run({"sorted_sequence": sequence, "input": values})
