"""Random numbers, and ops that use them: which numbers come of which words, philox.py says."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wgtorch import generator as generators
from wgtorch import philox
from wgtorch.dtype import float32, int32
from wgtorch.op import Condition, Draw, composite, declare, elementwise
from wgtorch.ops.requirements import require, within
from wgtorch.ops.samples import bools, normal


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
    seed, offset = generators.of(input.device, generator).take(prod(size))
    return getattr(input, draw)(size, seed, offset)


# Whole numbers


def integers_below(input: Any, limit: int, shape: tuple[int, ...], generator: Any = None):
    """Whole numbers from 0 to `limit` (excluded), as int64, on a tensor's device."""
    low = fresh(input, "_draw_words", shape, generator).long()
    if limit < 1 << 31:
        return ((low & 0xFFFFFFFF) * limit) >> 32
    high = fresh(input, "_draw_words", shape, generator).long()
    bits = ((high & 0x7FFFFFFF) << 32) | (low & 0xFFFFFFFF)
    if limit < 1 << 63:
        return bits % limit
    half = limit // 2  # the last of an odd number of choices has a chance of 2^-64: none
    bits = bits % half if half < 1 << 63 else bits
    return bits + (high < 0).long() * (half if half < 1 << 63 else -(1 << 63))


# Dropout


@elementwise(
    "input * select(0.0, scale, kept)",
    vjp={"input": lambda grad, kept, scale: grad._native_dropout(kept, scale)},
    samples=lambda rng: [((normal(rng, 3, 4), bools(rng, 3, 4)), {"scale": 2.0})],
    refuses={"bool": "dropout() takes floats", "integer": "dropout() takes floats"},
    torch="none",
    inplace=False,
)
def _native_dropout(input, kept: Condition, scale: float):
    "input * scale where kept, else 0 times the input."
    return input * (kept * input.dtype.type(scale))


def check_probability(p: float) -> None:
    if isinstance(p, str):
        raise TypeError("dropout(): argument 'p' must be float, not str")
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def check_castable(input: Any) -> None:
    if not input.is_floating_point():
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {input.dtype.short}"
        )


def kept(input: Any, p: float, shape: tuple[int, ...]):
    """Where to keep elements that are dropped with probability `p`."""
    return fresh(input, "_draw_uniform", shape) >= p


def channels(input: Any) -> tuple[int, ...]:
    """The shape of one decision for each channel (dimension 1) of each sample."""
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *[1] * (input.ndim - 2))


def dropped(input: Any, p: float, train: bool, shape: tuple[int, ...]):
    """One decision for each element of `shape`, which broadcasts to the input's."""
    check_probability(p)
    if not train or p == 0 or not input.numel():
        return input
    if p == 1:
        return input * 0
    check_castable(input)
    return input._native_dropout(kept(input, p, shape), 1 / (1 - p))


@composite(method=False, inplace=True)
def dropout(input, p: float, train: bool):
    "Zeros each element with probability p in training, and divides the rest by 1 - p."
    return dropped(input, p, train, input.shape)


@composite(method=False, inplace=True)
def feature_dropout(input, p: float, train: bool):
    "As dropout, for whole channels (dimension 1) of each sample."
    return dropped(input, p, train, channels(input))


ALPHA = 1.7580993408473766  # what SELU saturates at, but for the sign


def alpha_dropped(input: Any, p: float, train: bool, shape: tuple[int, ...]):
    """Sets elements to what SELU saturates at, and keeps mean 0 and variance 1 as they are."""
    check_probability(p)
    if not train or p == 0 or not input.numel():
        return input
    if p == 1:
        return input * 0
    check_castable(input)
    scale = ((ALPHA * ALPHA * p + 1) * (1 - p)) ** -0.5
    mask = kept(input, p, shape)
    shift = (1 - mask.to(input.dtype)) * (-ALPHA * scale) + ALPHA * scale * p
    return input._native_dropout(mask, scale) + shift


@composite(method=False, inplace=True)
def alpha_dropout(input, p: float, train: bool):
    "Dropout for networks of SELUs, which keeps mean 0 and variance 1 (Klambauer et al. 2017)."
    return alpha_dropped(input, p, train, input.shape)


@composite(method=False, inplace=True)
def feature_alpha_dropout(input, p: float, train: bool):
    "As alpha_dropout, for whole channels (dimension 1) of each sample."
    return alpha_dropped(input, p, train, channels(input) if train else input.shape)


@composite(method=False, inplace=True)
def rrelu(input, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
          generator: Any = None):  # fmt: skip
    "A leaky relu; in training each negative element has a slope of its own between two bounds."
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return input.leaky_relu((lower + upper) / 2)
    slopes = fresh(input, "_draw_uniform", None, generator) * (upper - lower) + lower
    return input * slopes.where(input.detach() <= 0, 1.0).to(input.dtype)


# Samples of distributions that tensors describe

NO_CHANCE = "bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false."


@composite(method=True)
def bernoulli(input, p: float | None = None, *, generator: Any = None):
    "1 with the probability that each element says (or with p), else 0; of the input's dtype."
    if p is None and not input.is_floating_point():
        raise NotImplementedError(
            f"\"bernoulli_tensor_cpu_p_\" not implemented for '{input.dtype.short}'"
        )
    if p is not None and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    if p is None:
        within(input, 0, 1, NO_CHANCE)
    noise = fresh(input, "_draw_uniform", None, generator)
    return input._level((noise < (input.detach() if p is None else p)).to(input.dtype))


MOST = 1 << 24  # categories that sums of floats tell apart


@composite(method=True)
def multinomial(input, num_samples: int, replacement: bool = False, *, generator: Any = None):
    "Indices drawn by weight from each row: `num_samples` of them, with or without putting back."
    check_weights(input, num_samples, replacement)
    weights = input.detach().float()
    if num_samples == 1 or not replacement:
        waits = fresh(input, "_draw_exponential", None, generator).clamp(min=2.0**-25)
        soonest = weights / waits
        if num_samples == 1:
            return soonest.argmax(-1, keepdim=True)
        return soonest.topk(num_samples, -1)[1]
    sums = weights.cumsum(-1)
    total = sums._slice(-1, input.shape[-1] - 1, input.shape[-1], 1)
    noise = fresh(input, "_draw_uniform", (*input.shape[:-1], num_samples), generator)
    below = (noise * total).minimum(total * (1 - 2.0**-23))  # the total itself is beyond the row
    return sums.searchsorted(below, right=True)


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
    if input.shape[-1] > MOST:
        raise RuntimeError("number of categories cannot exceed 2^24")
    weights = input.detach().float()
    if replacement and num_samples > 1:
        said = "invalid multinomial distribution (encountering probability entry"
        require(weights >= 0, f"{said} < 0)")
        require(weights < float("inf"), f"{said} = infinity or NaN)")
    else:
        said = "probability tensor contains either `inf`, `nan` or element < 0"
        require((weights >= 0) & (weights < float("inf")), f"multinomial: {said}")
    require(
        weights.amax(-1) > 0,
        "multinomial: invalid multinomial distribution (sum of probabilities <= 0)",
    )
