"""Blending: each element is a few elements of the input, weighted. Sampling an image anywhere is
that, with the same places and weights for all channels. The ops are each other's gradients.

An input is (samples, channels, size), what is made of it (samples, channels, count), places and
weights are (samples, taps, count). Place -1 is outside, where zeros are.
"""

from __future__ import annotations

import numpy as np

from wgtorch.determinism import are_deterministic_algorithms_enabled
from wgtorch.dtype import float64
from wgtorch.op import Facts, Index, Map, Pass, Structured, composite, declare
from wgtorch.ops.samples import normal

GROUP, MAX_GROUPS = 256, 65535


def blend_samples(rng):
    places = rng.integers(-1, 7, (2, 4, 5))
    yield (normal(rng, 2, 3, 7), places, normal(rng, 2, 4, 5)), {}
    yield (normal(rng, 7, 1, 2).T, places[:, :1], normal(rng, 2, 1, 5)), {}


@declare(
    Map,
    shader="blend.wgsl",
    shape=lambda input, places, weights: (*input[:2], places[2]),
    numbers=lambda facts: (*facts.layouts[0].shape[1:], *facts.layouts[1].shape[1:]),
    places=lambda facts: dict(zip(("input", "places", "weights"), facts.layouts, strict=True)),
    vjp={
        "input": lambda grad, input_shape, places, weights: grad._blend_back(
            places, weights, input_shape[2]
        ),
        "weights": lambda grad, input, places: grad._blend_weights(input, places),
    },
    samples=blend_samples,
    torch="none",
)
def _blend(input, places: Index, weights):
    "The sums of the elements of `input` at `places`, each times its weight."
    out = np.zeros((*input.shape[:2], places.shape[2]), np.result_type(input, weights))
    for total, rows, where, shares in zip(out, input, places, weights, strict=True):
        for place, share in zip(where, shares, strict=True):
            total += np.where(place < 0, 0, rows.take(place, 1, mode="clip")) * share
    return out


def push_plan(facts: Facts) -> Pass | None:
    grad, places, weights = facts.layouts
    if facts.out_dtypes[0] is float64:  # there are no atomics of 64 bits
        return None
    _, channels, count = grad.shape
    return Pass(
        "blend_push.wgsl",
        (min(-(-max(1, grad.numel) // GROUP), MAX_GROUPS), 1, 1),
        (grad.numel, channels, facts.attrs["size"], places.shape[1], count),
        ("grad_output", "places", "weights"),
        front=("elementwise.wgsl",),
        places=(("grad_output", grad), ("places", places), ("weights", weights)),
        clear=("result",),
        merge="a + b",
    )


PULLED = {
    "grad_output": lambda grad, places, weights: grad._blend(places, weights),
    "weights": lambda grad, grad_output, places: grad_output._blend_weights(grad, places),
}


def push_samples(rng):
    for (input, places, weights), _ in blend_samples(rng):
        yield (normal(rng, *input.shape[:2], 5), places, weights, input.shape[2]), {}


@declare(
    Structured,
    shape=lambda grad_output, places, weights, size: (*grad_output[:2], size),
    plan=push_plan,
    vjp=PULLED,
    samples=push_samples,
    torch="none",
)
def _blend_push(grad_output, places: Index, weights, size: int):
    "What each element of an input of `size` gets: gradients of its places, times their weights."
    samples, channels, _ = grad_output.shape
    out = np.empty((samples, channels, size), np.result_type(grad_output, weights))
    rows = np.arange(channels)[:, None, None] * (size + 1)
    for made, grad, where, shares in zip(out, grad_output, places, weights, strict=True):
        index = rows + np.where(where < 0, size, where)  # what was outside goes behind the row
        found = np.bincount(
            index.reshape(-1), (grad[:, None] * shares).reshape(-1), channels * (size + 1)
        )
        made[...] = found.reshape(channels, size + 1)[:, :size]
    return out


@composite(samples=push_samples, torch="none")
def _blend_back(grad_output, places, weights, size: int):
    "`_blend_push`, or what gives the same sums each time."
    on_cpu = grad_output.device.type == "cpu"
    if on_cpu or not (are_deterministic_algorithms_enabled() or grad_output.dtype is float64):
        return grad_output._blend_push(places, weights, size)
    each = (grad_output.unsqueeze(2) * weights.unsqueeze(1)).flatten(2)
    index = places.where(places >= 0, size).flatten(1).unsqueeze(1).expand(each.layout.shape)
    samples, channels, _ = grad_output.layout.shape
    rows = each.new_zeros((samples, channels, size + 1)).scatter_add(2, index, each)
    return rows._slice(2, 0, size)


def weights_samples(rng):
    for (input, places, _), _ in blend_samples(rng):
        yield (normal(rng, *input.shape[:2], 5), input, places), {}


@declare(
    Map,
    shader="blend_weights.wgsl",
    shape=lambda grad_output, input, places: places,
    numbers=lambda facts: (*facts.layouts[1].shape[1:], *facts.layouts[2].shape[1:]),
    places=lambda facts: dict(zip(("grad_output", "input", "places"), facts.layouts, strict=True)),
    vjp={
        "grad_output": lambda grad, input, places: input._blend(places, grad),
        "input": lambda grad, grad_output, input_shape, places: grad_output._blend_back(
            places, grad, input_shape[2]
        ),
    },
    samples=weights_samples,
    torch="none",
)
def _blend_weights(grad_output, input, places: Index):
    "What each weight gets: over the channels, the gradient times the element at its place."
    out = np.empty(places.shape, np.result_type(grad_output, input))
    for made, grad, rows, where in zip(out, grad_output, input, places, strict=True):
        for weight, place in zip(made, where, strict=True):
            products = np.einsum("cp,cp->p", grad, rows.take(place, 1, mode="clip"))
            weight[...] = np.where(place < 0, 0, products)
    return out
