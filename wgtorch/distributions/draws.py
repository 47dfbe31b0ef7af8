"""What samples are made of: random numbers of a tensor's dtype, on its device."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor, random


def normals(shape: Any, like: Tensor) -> Tensor:
    """Of mean 0 and variance 1."""
    return random.normals(tuple(shape), like.device, like.dtype)


def uniforms(shape: Any, like: Tensor) -> Tensor:
    """In [0, 1)."""
    return random.uniform(tuple(shape), like.device, like.dtype)


def between(shape: Any, like: Tensor) -> Tensor:
    """In (0, 1): their logarithms are finite, as are those of 1 less them."""
    return uniforms(shape, like).clamp(min=wgtorch.finfo(like.dtype).eps / 4)


def exponentials(shape: Any, like: Tensor) -> Tensor:
    """Of rate 1, above 0."""
    drawn = random.drawn("_draw_exponential", tuple(shape), like.device)
    return drawn.clamp(min=2.0**-25).to(like.dtype)


def gumbels(shape: Any, like: Tensor) -> Tensor:
    """-log of exponential numbers: the index of the largest of logits and these is a sample."""
    return -exponentials(shape, like).log()
