"""Ops that bring rows or channels to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch.dtype import bfloat16, float16, float32
from wgtorch.integers import int_tuple
from wgtorch.op import Maybe, Reduction, Rowwise, composite, declare, elementwise
from wgtorch.ops.adding import add_up
from wgtorch.ops.arguments import floats_only
from wgtorch.ops.complexes import complex_
from wgtorch.ops.samples import normal
from wgtorch.ops.softmax import is_recorded


def answering(*inputs: str) -> Callable[[Any], Any]:
    """Marks a formula that gives the gradients of several inputs, which share most of the work."""

    def marked(formula: Any) -> Any:
        formula.answers = inputs
        return formula

    return marked


@elementwise(
    "c64(grad, grad * ((input - mean) * rstd))",
    samples=lambda rng: [((normal(rng, 4, 3, 8), *[normal(rng, 4, 3, 8) for _ in range(3)]), {})],
    refuses=floats_only("normed"),
    result="complex",
    torch="-",
    inplace=False,
)
def _with_normed(grad, input, mean, rstd):
    "grad and its product with the normalised input, as the parts of a complex number."
    return complex_.reference(grad, grad * ((input - mean) * rstd))


@declare(
    Reduction,
    combine="a + b",
    identity="0",
    leave=("a", "parts_exchanged(a)"),
    outputs=("real", "imag"),
    result=("real", "real"),
    no_dims="none",
    complex=True,
    samples=lambda rng: [
        ((normal(rng, 4, 3, 8) + 1j * normal(rng, 4, 3, 8),), {"dim": (0, 2), "keepdim": True}),
        ((normal(rng, 40, 8) + 1j * normal(rng, 40, 8),), {"dim": (0,), "keepdim": False}),
    ],
)
def _sums_of_parts(input, dim: object, keepdim: bool):
    "(sum of the real parts, sum of the imaginary parts) over dim: two folds in one."
    sums = add_up(input, dim, keepdim)
    return np.real(sums), np.imag(sums)


def sums(grad, input, mean, rstd, dims, keepdim):
    """(sum of grad, sum of grad * normalised) over dims."""
    return grad._with_normed(input, mean, rstd)._sums_of_parts(dims, keepdim)


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


@answering("weight", "bias")
def of_layer_weights(grad, input, weight_shape, bias_shape, mean, rstd, rank, eps):
    shape = weight_shape or bias_shape  # () of what was left out
    if is_recorded(grad, input):
        mean, rstd = row_stats(input, last(input.shape, rank), eps)
        along = grad * ((input - mean) * rstd)
        return along.summed_to(shape), grad.summed_to(shape)
    new = len(input.shape) - len(shape)
    dims = (*range(new), *(new + d for d, n in enumerate(shape) if n == 1))
    total, along = sums(grad, input, mean, rstd, dims, False)
    if 1 in shape:
        total, along = total.reshape(shape), along.reshape(shape)
    return along.to(grad.dtype), total.to(grad.dtype)


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
        "weight": of_layer_weights,
        "bias": of_layer_weights,
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
    shape = int_tuple("layer_norm", "normalized_shape", normalized_shape, 2)
    check_layer(input, shape, weight, bias)
    if input.dtype.category < 2:
        raise NotImplementedError(
            f"\"LayerNormKernelImpl\" not implemented for '{input.dtype.short}'"
        )
    return input._normed_rows(weight, bias, len(shape), eps)


@composite(samples=None)
def _normed_rows(input, weight: Maybe, bias: Maybe, rank: int, eps: float):
    "The first of what `_layer_norm` gives, of the dtype of `input`."
    is_mixed(input, weight, bias)
    return input._layer_norm(weight, bias, rank, eps)[0].to(input.dtype)


def is_mixed(input, *parameters: Any) -> bool:
    """Whether halves meet parameters of float32, the one mixture that norms take."""
    kinds = [p.dtype for p in parameters if p is not None]
    others = [kind for kind in kinds if kind is not input.dtype]
    if not others:
        return False
    if kinds[0] is input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.short} but found {others[0].short}")
    if any([kind is not float32 for kind in kinds]):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype not in (float16, bfloat16):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return True


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


# RMS norm


def rms_samples(rng):
    for (x, weight, _), attrs in layer_samples(rng):
        yield (x, weight), attrs


def rms_backward_samples(rng):
    for (x, weight), attrs in rms_samples(rng):
        square = np.mean(x * x, axis=last(x.shape, attrs["rank"]), keepdims=True)
        yield (normal(rng, *x.shape), x, weight, square + 1), {"rank": attrs["rank"]}


@declare(
    Rowwise,
    shape=lambda grad, input, weight, rstd, rank: grad,
    shader="rms_norm_backward.wgsl",
    dims=last,
    absent={"weight": "1.0"},
    samples=rms_backward_samples,
)
def _rms_norm_backward(grad, input, weight: Maybe, rstd, rank: int):
    "What the input of an RMS norm gets."
    g, normed = grad if weight is None else grad * weight, input * rstd
    along = np.mean(g * normed, axis=last(input.shape, rank), keepdims=True)
    return (g - normed * along) * rstd


def rms_rstd(input, rank: int, eps: float):
    return ((input * input).mean(last(input.shape, rank), True) + eps).rsqrt()


def of_rms_input(grad, input, weight, rstd, rank, eps):
    if not is_recorded(grad, input, *[w for w in (weight,) if w is not None]):
        return grad._rms_norm_backward(input, weight, rstd, rank)
    rstd = rms_rstd(input, rank, eps)
    g, normed = grad if weight is None else grad * weight, input * rstd
    return (g - normed * (g * normed).mean(last(input.shape, rank), True)) * rstd


def of_rms_weight(grad, input, weight_shape, rstd, rank, eps):
    rstd = rms_rstd(input, rank, eps) if is_recorded(grad, input) else rstd
    return (grad * (input * rstd)).summed_to(weight_shape)


@declare(
    Rowwise,
    shape=lambda input, weight, rank, eps: (input, row_shape(input, rank)),
    outputs=("_out", "rstd"),
    shader="rms_norm.wgsl",
    dims=last,
    absent={"weight": "1.0"},
    vjp={"input": of_rms_input, "weight": of_rms_weight},
    samples=rms_samples,
)
def _rms_norm(input, weight: Maybe, rank: int, eps: float):
    "(divided by the root mean square over the last `rank` dims, 1 / that), of floats."
    rstd = 1 / np.sqrt(np.mean(input * input, axis=last(input.shape, rank), keepdims=True) + eps)
    out = input * rstd
    return out if weight is None else out * weight, rstd


@composite(samples=lambda rng: [((normal(rng, 3, 4, 8), (8,), normal(rng, 8)), {})], method=False)
def rms_norm(input, normalized_shape: object, weight: Maybe = None, eps: float | None = None):
    "Each sample divided by its root mean square over its last dimensions."
    shape = int_tuple("rms_norm", "normalized_shape", normalized_shape, 2)
    check_layer(input, shape, weight, None)
    if input.dtype.category < 2:
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{input.dtype.short}'")
    eps = float(np.finfo(np.float32).eps) if eps is None else eps
    given = [t for t in (input, weight) if t is not None]
    if input.dtype.category == 2 and not any([t.device.level for t in given]):
        return input._rms_norm(weight, len(shape), eps)[0].to(input.dtype)
    wide = input.float() if input.dtype.itemsize == 2 else input  # squares overflow a half
    out = wide * rms_rstd(wide, len(shape), eps)
    return (out if weight is None else out * weight).to(input.dtype)


# Group norm


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
    if num_groups < 1:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of"
            f" shape {list(input.shape)} and num_groups={num_groups}"
        )
    is_mixed(input, weight, bias)
    if input.dtype.category != 2:
        raise NotImplementedError(
            f"\"GroupNormKernelImpl\" not implemented for '{input.dtype.short}'"
        )
    return in_groups(input, num_groups, weight, bias, eps)


def in_groups(input, groups: int, weight, bias, eps: float):
    """Rows are groups of channels, whose weight and bias repeat along the last dimension."""
    count, channels = input.shape[:2]
    each = (groups, channels // groups, 1)
    rows = input.reshape((count, *each[:2], -1 if input.numel() else 0))
    weight, bias = (None if t is None else t.reshape(each) for t in (weight, bias))
    return rows._normed_rows(weight, bias, 2, eps).reshape(input.shape)


def by_channel(input, weight, bias):
    """Scaled and shifted along dimension 1."""
    shape = channel_shape(input)
    out = input if weight is None else input * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


def channel_shape(input) -> tuple[int, ...]:
    return (1, input.shape[1], *[1] * (input.ndim - 2))
