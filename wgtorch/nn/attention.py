"""Ways to compute attention, and the choice among them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """How `scaled_dot_product_attention` computes, under PyTorch's names. Here there are two.

    MATH: all scores at once, kept for backward. EFFICIENT_ATTENTION: block by block of queries,
    each computed again in backward, so that memory grows with a block and not with all scores.
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


class Choice:
    """What may be used, and which comes first."""

    order: tuple[SDPBackend, ...] = tuple(way for way in SDPBackend if way >= 0)
    enabled: tuple[SDPBackend, ...] = order


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict]:
    """Have attention computed in one of these ways, or raise RuntimeError where none is here.

    The first is taken that is here: in the order MATH, EFFICIENT_ATTENTION, or in that of the list
    if `set_priority`.
    """
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, "
            f"got {type(backends).__name__}"
        )
    chosen = tuple(backends) if isinstance(backends, list) else (backends,)
    before = Choice.order, Choice.enabled
    Choice.enabled = chosen
    if set_priority:
        Choice.order = tuple(dict.fromkeys([*chosen, *Choice.order]))
    try:
        yield {}
    finally:
        Choice.order, Choice.enabled = before
