"""Convolutions of batches: samples that have kernels of their own become groups of channels."""

from __future__ import annotations

from typing import Any

from wgtorch.autograd.transforms.batch_rules import Batch, folded_in, rule


@rule("convolution")
def convolution(batch: Batch) -> Any:
    rank = len(batch.shape("input"))
    bias = batch.below("bias")
    if batch.is_batched("weight"):
        out = by_groups(batch)
    elif batch.is_batched("input"):
        own = None if batch.is_batched("bias") else bias
        folded = folded_in(batch.whole("input"))
        weight = batch.below("weight").contiguous()
        out = batch.run({"input": folded, "weight": weight, "bias": own})
        out = out.reshape((batch.size, -1, *out.layout.shape[1:]))
        if own is not None:
            return out
    else:
        weight = batch.below("weight").contiguous()
        inputs = {"input": batch.below("input"), "weight": weight, "bias": None}
        out = batch.run(inputs).unsqueeze(0)
    if bias is None:
        return out
    return out + bias.reshape((*bias.layout.shape[:-1], 1, -1, *[1] * (rank - 2)))


def by_groups(batch: Batch) -> Any:
    x, weight = side_by_side(batch.whole("input")), folded_in(batch.whole("weight"))
    inputs = {"input": x, "weight": weight, "bias": None}
    return apart(batch.run(inputs, groups=batch.size * batch.attrs["groups"]), batch.size)


@rule("_convolution_weight")
def weight_gradient(batch: Batch) -> Any:
    inputs = {name: side_by_side(batch.whole(name)).contiguous() for name in batch.args}
    out = batch.run(inputs, groups=batch.size * batch.attrs["groups"])
    return out.reshape((batch.size, -1, *out.layout.shape[1:]))


def side_by_side(tensor: Any) -> Any:
    """(batch, n, channels, ...) as (n, batch * channels, ...)."""
    moved = tensor.transpose(0, 1)
    shape = moved.layout.shape
    return moved.reshape((shape[0], shape[1] * shape[2], *shape[3:]))


def apart(tensor: Any, size: int) -> Any:
    shape = tensor.layout.shape
    return tensor.reshape((shape[0], size, -1, *shape[2:])).transpose(0, 1)
