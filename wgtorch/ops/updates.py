"""Updates: what an optimizer does to each element, as one expression and hence one step."""

from __future__ import annotations

import numpy as np

from wgtorch.op import elementwise
from wgtorch.ops.arguments import floats_only
from wgtorch.ops.samples import normal


@elementwise(
    "keep * input + take * other",
    vjp={
        "input": lambda grad, keep: grad * keep,
        "other": lambda grad, take: grad * take,
    },
    samples=lambda rng: [
        ((normal(rng, 3, 5), normal(rng, 3, 5)), {"keep": 0.9, "take": 0.1}),
        ((normal(rng, 4), normal(rng, 4)), {"keep": 1.0, "take": -0.5}),
    ],
    refuses=floats_only("update"),
    apart="",  # computed before it is written
)
def _mixed(input, other, keep: float = 1, take: float = 1):
    "keep * input + take * other: momentum, or a plain step"
    kind = input.dtype.type
    return kind(keep) * input + kind(take) * other


@elementwise(
    "keep * input + take * other * other",
    vjp={
        "input": lambda grad, keep: grad * keep,
        "other": lambda grad, other, take: grad * (other * (2 * take)),
    },
    samples=lambda rng: [((normal(rng, 3, 5), normal(rng, 3, 5)), {"keep": 0.9, "take": 0.1})],
    refuses=floats_only("update"),
    apart="",  # computed before it is written
)
def _mixed_square(input, other, keep: float = 1, take: float = 1):
    "keep * input + take * other squared: a running second moment"
    kind = input.dtype.type
    return kind(keep) * input + kind(take) * other * other


@elementwise(
    "keep * input - size * mean / (sqrt(square) + eps)",
    vjp={
        "input": lambda grad, keep: grad * keep,
        "mean": lambda grad, square, size, eps: grad * (-size) / (square.sqrt() + eps),
        "square": lambda grad, mean, square, size, eps: (
            grad * mean * (size / 2) / (square.sqrt() * (square.sqrt() + eps).square())
        ),
    },
    samples=lambda rng: [
        (
            (normal(rng, 3, 5), normal(rng, 3, 5), np.abs(normal(rng, 3, 5)) + 0.1),
            {"keep": 0.99, "size": 0.5, "eps": 1e-3},
        )
    ],
    refuses=floats_only("update"),
    apart="",  # computed before it is written
)
def _adam_step(input, mean, square, keep: float = 1, size: float = 1, eps: float = 0):
    "keep * input - size * mean / (sqrt(square) + eps)"
    kind = input.dtype.type
    return kind(keep) * input - kind(size) * mean / (np.sqrt(square) + kind(eps))
