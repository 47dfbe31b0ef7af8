"""Random numbers, and ops that use them: which numbers come of which words, philox.py says."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch import generator as generators, philox
from wgtorch.dtype import float32, int32
from wgtorch.op import Condition, Draw, composite, declare, elementwise


@declare(Draw, wgsl="uniform4(words)", dtype=float32)
def _draw_uniform(seed: int, offset: int, count: int):
    "Multiples of 2^-24 in [0, 1)."
    return philox.uniform(seed, offset, count)


@declare(Draw, wgsl="normal4(words)", dtype=float32)
def _draw_normal(seed: int, offset: int, count: int):
    "Normal numbers of mean 0 and deviation 1."
    return philox.normal(seed, offset, count)


@declare(Draw, wgsl="exponential4(words)", dtype=float32)
def _draw_exponential(seed: int, offset: int, count: int):
    "Exponentially distributed numbers of rate 1."
    return philox.exponential(seed, offset, count)


@declare(Draw, wgsl="bitcast<vec4<i32>>(words)", dtype=int32)
def _draw_words(seed: int, offset: int, count: int):
    "32 random bits."
    return philox.words(seed, offset, count).view(np.int32)


def fresh(input: Any, draw: str, shape: tuple[int, ...] | None = None, generator: Any = None):
    """New random numbers on a tensor's device, of its shape unless another is given."""
    size = tuple(input.shape if shape is None else shape)
    count = 1
    for n in size:
        count *= n
    seed, offset = generators.of(input.device, generator).take(count)
    return getattr(input, draw)(size, seed, offset)


# Whole numbers


@elementwise(
    "((word & 4294967295) * limit) >> 32",
    samples=None,
    inplace=False,
)
def _below(word, limit):
    "A whole number below limit < 2^31, of 32 random bits, as int64."
    return ((word & np.int64(0xFFFFFFFF)) * limit) >> np.int64(32)


def integers_below(input: Any, limit: int, shape: tuple[int, ...], generator: Any = None):
    """Whole numbers from 0 to `limit` (excluded), as int64, on a tensor's device."""
    low = fresh(input, "_draw_words", shape, generator).long()
    if limit < 1 << 31:
        return low._below(limit)
    high = fresh(input, "_draw_words", shape, generator).long() & 0x7FFFFFFF
    bits = (high << 32) | (low & 0xFFFFFFFF)
    return bits % limit if limit < 1 << 63 else bits


# Dropout: what is dropped is drawn again for the gradient, not kept


def again(grad, scale, p, seed, offset):
    kept = grad._draw_uniform(grad.shape, seed, offset) >= p
    return grad._dropped(kept, scale=scale, p=p, seed=seed, offset=offset)


@elementwise("select(0.0, input * scale, kept)", vjp={"input": again}, inplace=False)
def _dropped(input, kept: Condition, *, scale: float, p: float, seed: int, offset: int):
    "input * scale where kept; the numbers of the draw are for the gradient."
    return np.where(kept, input * input.dtype.type(scale), input.dtype.type(0))


@composite(method=False, inplace=True)
def dropout(input, p: float, train: bool):
    "Zeros each element with probability p in training, and divides the rest by 1 - p."
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not train or p == 0 or not input.numel():
        return input
    if p == 1:
        return input * 0
    if not input.is_floating_point():
        input = input.float()
    return dropped_by(input, input.shape, p)


def dropped_by(input: Any, shape: tuple[int, ...], p: float):
    """One decision for each element of `shape`, which broadcasts to the input's."""
    count = 1
    for n in shape:
        count *= n
    seed, offset = generators.of(input.device).take(count)
    kept = input._draw_uniform(tuple(shape), seed, offset) >= p
    if tuple(shape) == tuple(input.shape):
        return input._dropped(kept, scale=1 / (1 - p), p=p, seed=seed, offset=offset)
    return input * (kept.to(input.dtype) * (1 / (1 - p)))


@composite(method=False, inplace=True)
def feature_dropout(input, p: float, train: bool):
    "As dropout, for whole channels (dimension 1) of each sample."
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if not train or p == 0 or not input.numel():
        return input
    if p == 1:
        return input * 0
    return dropped_by(input, (*input.shape[:2], *[1] * (input.ndim - 2)), p)


# Samples of distributions that tensors describe


@composite(method=True)
def bernoulli(input, p: float | None = None, *, generator: object = None):
    "1 with the probability that each element says (or with p), else 0; of the input's dtype."
    if p is None and not input.is_floating_point():
        raise NotImplementedError(
            f"\"bernoulli_tensor_cpu_p_\" not implemented for '{input.dtype.short}'"
        )
    if p is not None and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli expects p to be in [0, 1], but got p={p}")
    if p is None and input.device.type == "cpu" and input.numel():
        low, high = input.detach().aminmax()
        if not (float(low) >= 0 and float(high) <= 1):
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    noise = fresh(input, "_draw_uniform", None, generator)
    return (noise < (input.detach() if p is None else p)).to(input.dtype)


@composite(method=True)
def multinomial(input, num_samples: int, replacement: bool = False, *, generator: object = None):
    "Indices drawn by weight from each row: `num_samples` of them, with or without putting back."
    check_weights(input, num_samples, replacement)
    input = input.detach().float()
    if not replacement:
        noise = fresh(input, "_draw_exponential", None, generator)
        return (input / noise).topk(num_samples, -1)[1]
    sums = input.cumsum(-1)
    total = sums._slice(-1, input.shape[-1] - 1)
    noise = fresh(input, "_draw_uniform", (*input.shape[:-1], num_samples), generator)
    found = sums.searchsorted(noise * total, right=True)
    return found.clamp(max=input.shape[-1] - 1)


def check_weights(input, num_samples: int, replacement: bool) -> None:
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.is_floating_point():
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {input.dtype.short}"
        )
    if num_samples < 1:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if input.device.type != "cpu":
        return  # looking would stall the device
    weights = input.detach().float().numpy()
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (weights.sum(-1) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


@composite(method=False)
def poisson(input, generator: object = None):
    "Poisson numbers of the rates that the input says; computed on the cpu."
    seed, offset = generators.of(input.device, generator).take(4)
    rng = np.random.Generator(np.random.Philox(key=seed, counter=offset))
    rates = input.detach().float().cpu().numpy()
    return input.new_tensor(rng.poisson(rates).astype(np.float32)).to(input.dtype)
