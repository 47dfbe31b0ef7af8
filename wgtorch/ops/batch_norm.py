"""Ops that bring channels to mean 0 and variance 1, over a batch or in each of its samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.backend import fulfil
from wgtorch.layout import wrap_dim
from wgtorch.op import Maybe, Reduction, composite, declare, elementwise
from wgtorch.ops.adding import average
from wgtorch.ops.arguments import floats_only
from wgtorch.ops.moments import MOMENTS, distances_squared
from wgtorch.ops.normalization import (
    answering,
    by_channel,
    channel_shape,
    in_groups,
    is_mixed,
    row_stats,
    sums,
)  # fmt: skip
from wgtorch.ops.reductions import count
from wgtorch.ops.samples import normal, positive
from wgtorch.ops.softmax import is_recorded


@declare(
    Reduction,
    **MOMENTS,
    outputs=("_mean", "rstd", "var"),
    result=("same", "same", "same"),
    leave=("mean_of(a)", "rsqrt(variance(a, 0.0) + eps)", "variance(a, 1.0)"),
    samples=lambda rng: [
        ((normal(rng, 4, 3, 5),), {"dim": (0, 2), "keepdim": True, "eps": 1e-5}),
        ((normal(rng, 4, 3, 8),), {"dim": (0, 2), "keepdim": False, "eps": 1e-3}),
    ],
)
def _batch_stats(input, dim: object, keepdim: bool, eps: float):
    "(mean, 1 / sqrt(variance + eps), unbiased variance) over dim, in one pass."
    mean, squares = average(input, dim, keepdim), distances_squared(input, dim)
    squares = squares if keepdim else squares.squeeze(dim)
    n = count(input.shape, dim)
    return mean, 1 / np.sqrt(squares / np.float64(n) + eps), squares / np.float64(n - 1)


@elementwise(
    "(grad - (total + (input - mean) * rstd * along) * share) * (rstd * weight)",
    samples=lambda rng: [
        ((normal(rng, 4, 3, 5), normal(rng, 4, 3, 5), *[normal(rng, 1, 3, 1) for _ in range(5)]),
         {"share": 0.0625}),
    ],
    refuses=floats_only("batch_norm"),
    torch="-",
    inplace=False,
)  # fmt: skip
def _batch_norm_backward(grad, input, mean, rstd, weight, total, along, share: float):
    "What the input of a batch norm gets: `share` is 1 / how many elements the sums have."
    return (grad - (total + (input - mean) * rstd * along) * share) * (rstd * weight)


@answering("input", "weight", "bias")
def of_batch_norm(grad, input, mean, rstd, weight, eps):
    """The input's is the whole: `mean` and `rstd` are its own, over the dims where they have 1."""
    dims = tuple([d for d, n in enumerate(mean.shape) if n == 1])
    if is_recorded(*tensors(grad, input, weight)):
        mean, rstd = row_stats(input, dims, eps)
        g, normed = grad * weight, (input - mean) * rstd
        given = (g - g.mean(dims, True) - normed * (g * normed).mean(dims, True)) * rstd
        return given, (grad * normed).sum(dims, True), grad.sum(dims, True)
    fulfil(grad)  # first: it lets go of its operands before a saved input comes back
    total, along = sums(grad, input, mean, rstd, dims, True)
    share = 1 / count(grad.shape, dims)
    given = grad._batch_norm_backward(input, mean, rstd, weight, total, along, share)
    return tuple([g.to(grad.dtype) for g in (given, along, total)])


def tensors(*operands: Any) -> list[Any]:
    return [t for t in operands if hasattr(t, "layout")]


@elementwise(
    "(input - mean) * rstd * weight + bias",
    vjp=dict.fromkeys(("input", "weight", "bias"), of_batch_norm),
    derived=("mean", "rstd"),
    samples=lambda rng: [
        ((normal(rng, 4, 3, 5), *[positive(rng, 1, 3, 1) for _ in range(4)]), {"eps": 1e-5}),
        ((normal(rng, 4, 8), *[positive(rng, 1, 8) for _ in range(4)]), {"eps": 1e-5}),
    ],
    refuses=dict.fromkeys(("bool", "integer"), "batch_norm is computed in floats, not in {dtype}"),
    torch="-",
    inplace=False,
)
def _normalized(input, mean, rstd, weight, bias, eps: float):
    """Shifted and scaled twice: to mean 0 and variance 1 by its own `mean` and `rstd`, which was
    taken with `eps`, then by weight and bias, of one shape."""
    return (input - mean) * rstd * weight + bias


def batch_dims(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (0, *range(2, len(shape)))


@composite(
    samples=lambda rng: [
        ((normal(rng, 4, 3, 5), normal(rng, 3), normal(rng, 3), None, None, True, 0.1, 1e-5), {}),
        ((normal(rng, 4, 3), None, None, normal(rng, 3), positive(rng, 3), False, 0.1, 1e-5), {}),
    ],
    method=False,
)
def batch_norm(input, weight: Maybe, bias: Maybe, running_mean: Maybe, running_var: Maybe,
               training: bool, momentum: float, eps: float,
               cudnn_enabled: bool = True):  # fmt: skip
    "Per channel (dimension 1): by the batch in training, else by the running mean and variance."
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if input.dtype.category < 2:
        raise NotImplementedError(f"\"batch_norm\" not implemented for '{input.dtype.short}'")
    check_channels(input, running_mean=running_mean, running_var=running_var, weight=weight,
                   bias=bias)  # fmt: skip
    mixed, shape = is_mixed(input, weight, bias, running_mean, running_var), channel_shape(input)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be given in evaluation mode")
        scale = (running_var + eps).rsqrt()
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale if bias is None else bias - running_mean * scale
        return (input * scale.reshape(shape) + shift.reshape(shape)).to(input.dtype)
    if not input.numel():  # nothing has a mean, and nothing moves
        return by_channel(input * 1, weight, bias).to(input.dtype)
    dims = batch_dims(input.shape)
    known = input.detach().float() if mixed else input.detach()
    mean, rstd, var = known._batch_stats(dims, True, eps)
    if running_mean is not None:
        moved(running_mean, mean.reshape(running_mean.shape), momentum)
    if running_var is not None:
        moved(running_var, var.reshape(running_var.shape), momentum)
    if not eps:
        return by_channel(normed_or_zero(input, dims), weight, bias).to(input.dtype)
    if any(t.device.level for t in tensors(input, weight, bias)):
        mean, rstd = row_stats(input, dims, eps)
        return by_channel((input - mean) * rstd, weight, bias).to(input.dtype)
    weight = 1.0 if weight is None else weight.reshape(shape)
    bias = 0.0 if bias is None else bias.reshape(shape)
    return input._normalized(mean, rstd, weight, bias, eps).to(input.dtype)


def moved(running, now, momentum: float) -> None:
    """A running statistic, nearer to what it is now."""
    running._mixed_(now.to(running.dtype), 1 - momentum, momentum)
    fulfil(running)


def check_channels(input, **given: Any) -> None:
    channels = input.shape[1] if input.ndim > 1 else 0
    for name, tensor in given.items():
        if tensor is not None and (tensor.numel() != channels or input.ndim < 2):
            raise RuntimeError(f"{name} should contain {channels} elements not {tensor.numel()}")
    wrap_dim(1, input.ndim)


@composite(samples=lambda rng: [((normal(rng, 2, 3, 8),), {})], method=False)
def instance_norm(input, weight: Maybe = None, bias: Maybe = None, running_mean: Maybe = None,
                  running_var: Maybe = None, use_input_stats: bool = True, momentum: float = 0.1,
                  eps: float = 1e-5, cudnn_enabled: bool = True):  # fmt: skip
    "Each channel of each sample at mean 0 and variance 1, then scaled and shifted by channel."
    if input.dtype.category != 2:
        raise NotImplementedError(f"\"batch_norm\" not implemented for '{input.dtype.short}'")
    mixed = is_mixed(input, weight, bias, running_mean, running_var)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when use_input_stats is false"
            )
        shape = channel_shape(input)
        scale = (running_var + eps).rsqrt().reshape(shape)
        out = by_channel((input - running_mean.reshape(shape)) * scale, weight, bias)
        return out.to(input.dtype)
    dims = tuple(range(2, input.ndim))
    known = input.detach().float() if mixed else input.detach()
    if running_mean is not None:
        moved(running_mean, known.mean(dims).mean(0), momentum)
    if running_var is not None:
        moved(running_var, known.var(dims).mean(0), momentum)
    if not input.numel():
        return by_channel(input * 1, weight, bias).to(input.dtype)
    if not eps:
        return by_channel(normed_or_zero(input, dims), weight, bias).to(input.dtype)
    return in_groups(input, input.shape[1], weight, bias, eps)


def normed_or_zero(input, dims: tuple[int, ...]):
    """At mean 0 and variance 1, but what is constant, which has no scale, is 0."""
    wide = input.float() if input.dtype.itemsize == 2 else input
    var = wide.var(dims, correction=0, keepdim=True)
    return (wide - wide.mean(dims, True)) * var.masked_fill(var == 0, float("inf")).rsqrt()
