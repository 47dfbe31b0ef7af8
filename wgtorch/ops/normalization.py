"""Ops that bring rows or channels to mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.backend import fulfil
from wgtorch.op import Maybe, Reduction, Rowwise, composite, declare, elementwise
from wgtorch.ops.moments import MOMENTS, variance
from wgtorch.ops.reductions import count, spread
from wgtorch.ops.samples import normal, positive
from wgtorch.ops.softmax import is_recorded


def kept(grad: Any, node: Any, name: str, make: Any) -> Any:
    """What the formulas of one node share, kept on the gradient they are all given.

    `node` is something only that node has: a gradient may be given to several nodes.
    """
    shared = grad.__dict__.setdefault("_shared_by_formulas", {})
    if (node, name) not in shared:
        shared[node, name] = make()
    return shared[node, name]


# Layer norm: rows are the last dimensions


def last(shape: tuple[int, ...], rank: int, **attrs: Any) -> tuple[int, ...]:
    return tuple(range(len(shape) - rank, len(shape)))


def row_shape(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return (*shape[: len(shape) - rank], *[1] * rank)


def layer_samples(rng):
    yield (normal(rng, 3, 5), normal(rng, 5), normal(rng, 5)), {"rank": 1, "eps": 1e-5}
    yield (normal(rng, 3, 4, 8), None, None), {"rank": 2, "eps": 1e-3}
    yield (normal(rng, 5, 64), normal(rng, 64), None), {"rank": 1, "eps": 1e-5}


def backward_samples(rng):
    for (x, weight, _), attrs in layer_samples(rng):
        mean = x.mean(axis=last(x.shape, attrs["rank"]), keepdims=True)
        yield (normal(rng, *x.shape), x, weight, mean, np.abs(mean) + 1), {"rank": attrs["rank"]}


@declare(
    Rowwise,
    shape=lambda grad, input, weight, mean, rstd, rank: grad,
    shader="layer_norm_backward.wgsl",
    dims=last,
    absent={"weight": "1.0"},
    samples=backward_samples,
)
def _layer_norm_backward(grad, input, weight: Maybe, mean, rstd, rank: int):
    "What the input of a layer norm gets."
    dims = last(input.shape, rank)
    g = grad if weight is None else grad * weight
    normed = (input - mean) * rstd
    along = np.mean(g * normed, axis=dims, keepdims=True)
    return (g - np.mean(g, axis=dims, keepdims=True) - normed * along) * rstd


def of_layer_input(grad, input, weight, mean, rstd, rank, eps):
    if not is_recorded(grad, input, *[w for w in (weight,) if w is not None]):
        return grad._layer_norm_backward(input, weight, mean, rstd, rank)
    dims = last(input.shape, rank)
    mean, rstd = row_stats(input, dims, eps)
    g = grad if weight is None else grad * weight
    normed = (input - mean) * rstd
    return (g - g.mean(dims, True) - normed * (g * normed).mean(dims, True)) * rstd


def row_stats(input, dims: tuple[int, ...], eps: float):
    return input.mean(dims, True), (input.var(dims, correction=0, keepdim=True) + eps).rsqrt()


def of_layer_weight(grad, input, weight_shape, mean, rstd, rank, eps):
    if is_recorded(grad, input):
        mean, rstd = row_stats(input, last(input.shape, rank), eps)
    return (grad * ((input - mean) * rstd)).sum_to_size(weight_shape)


@declare(
    Rowwise,
    shape=lambda input, weight, bias, rank, eps: (
        input,
        row_shape(input, rank),
        row_shape(input, rank),
    ),
    outputs=("_out", "mean", "rstd"),
    shader="layer_norm.wgsl",
    dims=last,
    absent={"weight": "1.0", "bias": "0.0"},
    vjp={
        "input": of_layer_input,
        "weight": of_layer_weight,
        "bias": lambda grad, bias_shape: grad.sum_to_size(bias_shape),
    },
    samples=layer_samples,
)
def _layer_norm(input, weight: Maybe, bias: Maybe, rank: int, eps: float):
    "(normalised over the last `rank` dims, mean, 1 / standard deviation), of floats."
    dims = last(input.shape, rank)
    mean = np.mean(input, axis=dims, keepdims=True)
    rstd = 1 / np.sqrt(np.mean((input - mean) ** 2, axis=dims, keepdims=True) + eps)
    out = (input - mean) * rstd
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, rstd


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 4, 8), (4, 8), normal(rng, 4, 8), normal(rng, 4, 8)), {})
    ],
    method=False,
)
def layer_norm(input, normalized_shape: object, weight: Maybe = None, bias: Maybe = None,
               eps: float = 1e-5, cudnn_enable: bool = True):  # fmt: skip
    "Each sample at mean 0 and variance 1 over its last dimensions, then scaled and shifted."
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    check_layer(input, shape, weight, bias)
    if input.dtype.category < 2:
        raise NotImplementedError(f"\"layer_norm\" not implemented for '{input.dtype.short}'")
    return input._layer_norm(weight, bias, len(shape), eps)[0]


def check_layer(input, shape: tuple[int, ...], weight, bias) -> None:
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one"
            " element, but got normalized_shape = []"
        )
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and tuple(given.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape"
                f" {list(given.shape)} and normalized_shape = {list(shape)}"
            )
    if tuple(input.shape[-len(shape) :]) != shape or input.ndim < len(shape):
        listed = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {listed}], but"
            f" got input of size{list(input.shape)}"
        )


@composite(samples=lambda rng: [((normal(rng, 3, 4, 8), (8,), normal(rng, 8)), {})], method=False)
def rms_norm(input, normalized_shape: object, weight: Maybe = None, eps: float | None = None):
    "Each sample divided by its root mean square over its last dimensions."
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    check_layer(input, shape, weight, None)
    eps = float(np.finfo(np.float32).eps) if eps is None else eps
    dims = last(input.shape, len(shape))
    wide = input.float() if input.dtype.itemsize == 2 else input  # squares overflow a half
    out = wide * ((wide * wide).mean(dims, True) + eps).rsqrt()
    return (out if weight is None else out * weight).to(input.dtype)


@composite(
    samples=lambda rng: [((normal(rng, 2, 6, 4), 3, normal(rng, 6), normal(rng, 6)), {})],
    method=False,
)
def group_norm(input, num_groups: int, weight: Maybe = None, bias: Maybe = None,
               eps: float = 1e-5, cudnn_enabled: bool = True):  # fmt: skip
    "As layer norm, over each of `num_groups` groups of channels (dimension 1) of each sample."
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    channels = input.shape[1]
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of"
            f" shape {list(input.shape)} and num_groups={num_groups}"
        )
    rows = input.reshape((input.shape[0] * num_groups, -1 if input.numel() else 0))
    normed = rows._layer_norm(None, None, 1, eps)[0].reshape(input.shape)
    return by_channel(normed, weight, bias)


def by_channel(input, weight, bias):
    """Scaled and shifted along dimension 1."""
    shape = channel_shape(input)
    out = input if weight is None else input * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


def channel_shape(input) -> tuple[int, ...]:
    return (1, input.shape[1], *[1] * (input.ndim - 2))


# Batch norm: rows are channels, spread over the batch


def of_batch_stats(grad, input, _mean, rstd, dim, keepdim):
    """Of mean and rstd; the variance is for the running one only."""
    of_mean, of_rstd = grad
    size, total = count(input.shape, dim), None
    if of_mean is not None:
        total = spread(of_mean, input.shape, dim, keepdim) / size
    if of_rstd is not None:
        slope = (of_rstd * rstd * rstd * rstd / -size).restored(dim, keepdim)
        part = slope * (input - _mean.restored(dim, keepdim))
        total = part if total is None else total + part
    return total


@declare(
    Reduction,
    **MOMENTS,
    outputs=("_mean", "rstd", "var"),
    result=("same", "same", "same"),
    differentiable=(True, True, False),
    leave=("mean_of(a)", "rsqrt(variance(a, 0.0) + eps)", "variance(a, 1.0)"),
    vjp={"input": of_batch_stats},
    samples=lambda rng: [
        ((normal(rng, 4, 3, 5),), {"dim": (0, 2), "keepdim": True, "eps": 1e-5}),
        ((normal(rng, 4, 3, 8),), {"dim": (0, 2), "keepdim": False, "eps": 1e-3}),
    ],
)
def _batch_stats(input, dim: object, keepdim: bool, eps: float):
    "(mean, 1 / sqrt(variance + eps), unbiased variance) over dim, in one pass."
    mean = np.mean(input, axis=dim, keepdims=keepdim)
    rstd = 1 / np.sqrt(variance(input, dim, 0, keepdim) + eps)
    return mean, rstd, variance(input, dim, 1, keepdim)


def sums(grad, input, mean, rstd):
    """(sum of grad, sum of grad * normalised) of each row: what the formulas of a norm share."""

    def make():
        total = grad.sum_to_size(mean.shape)  # first: it makes grad, and lets go of its operands
        along = grad * ((input - mean) * rstd)
        return total, along.sum_to_size(mean.shape)

    return kept(grad, mean.storage.value, "sums", make)


@elementwise(
    "(input - mean) * rstd * weight + bias",
    vjp={
        "input": lambda grad, rstd, weight: grad * (rstd * weight),
        "mean": lambda grad, input, mean, rstd, weight: (
            -sums(grad, input, mean, rstd)[0] * (rstd * weight)
        ),
        "rstd": lambda grad, input, mean, rstd, weight: (
            sums(grad, input, mean, rstd)[1] * (weight / rstd)
        ),
        "weight": lambda grad, input, mean, rstd: sums(grad, input, mean, rstd)[1],
        "bias": lambda grad, input, mean, rstd: sums(grad, input, mean, rstd)[0],
    },
    samples=lambda rng: [
        ((normal(rng, 4, 3, 5), *[positive(rng, 1, 3, 1) for _ in range(4)]), {}),
        ((normal(rng, 4, 8), *[positive(rng, 8) for _ in range(4)]), {}),
    ],
    refuses=dict.fromkeys(("bool", "integer"), "batch_norm is computed in floats, not in {dtype}"),
    inplace=False,
)
def _normalized(input, mean, rstd, weight, bias):
    "Shifted and scaled twice: to mean 0 and variance 1, then by weight and bias, of one shape."
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
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm: expected at least 2 dimensions, got {input.ndim}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if input.dtype.category < 2:
        raise NotImplementedError(f"\"batch_norm\" not implemented for '{input.dtype.short}'")
    check_channels(input, weight=weight, bias=bias, running_mean=running_mean,
                   running_var=running_var)  # fmt: skip
    shape = channel_shape(input)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be given in evaluation mode")
        scale = (running_var + eps).rsqrt()
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale if bias is None else bias - running_mean * scale
        return input * scale.reshape(shape) + shift.reshape(shape)
    mean, rstd, var = input._batch_stats(batch_dims(input.shape), True, eps)
    if running_mean is not None:
        moved(running_mean, mean.detach().reshape(running_mean.shape), momentum)
    if running_var is not None:
        moved(running_var, var.reshape(running_var.shape), momentum)
    weight = 1.0 if weight is None else weight.reshape(shape)
    bias = 0.0 if bias is None else bias.reshape(shape)
    return input._normalized(mean, rstd, weight, bias)


def moved(running, now, momentum: float) -> None:
    """A running statistic, nearer to what it is now."""
    running._mixed_(now.to(running.dtype), 1 - momentum, momentum)
    fulfil(running)


def check_channels(input, **given: Any) -> None:
    for name, tensor in given.items():
        if tensor is not None and tensor.numel() != input.shape[1]:
            raise RuntimeError(
                f"{name} should contain {input.shape[1]} elements not {tensor.numel()}"
            )


@composite(samples=lambda rng: [((normal(rng, 2, 3, 8),), {})], method=False)
def instance_norm(input, weight: Maybe = None, bias: Maybe = None, running_mean: Maybe = None,
                  running_var: Maybe = None, use_input_stats: bool = True, momentum: float = 0.1,
                  eps: float = 1e-5, cudnn_enabled: bool = True):  # fmt: skip
    "Each channel of each sample at mean 0 and variance 1, then scaled and shifted by channel."
    if not use_input_stats:
        shape = channel_shape(input)
        scale = (running_var + eps).rsqrt().reshape(shape)
        return by_channel((input - running_mean.reshape(shape)) * scale, weight, bias)
    dims = tuple(range(2, input.ndim))
    if running_mean is not None:
        moved(running_mean, input.detach().mean(dims).mean(0), momentum)
    if running_var is not None:
        moved(running_var, input.detach().var(dims).mean(0), momentum)
    rows = input.reshape((input.shape[0] * input.shape[1], -1 if input.numel() else 0))
    normed = rows._layer_norm(None, None, 1, eps)[0].reshape(input.shape)
    return by_channel(normed, weight, bias)
