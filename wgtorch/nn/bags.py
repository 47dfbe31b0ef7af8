"""Bags: rows of a table that are looked up and put together."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.ops.requirements import require


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or largest of rows of `weight`, for each bag of indices.

    `input` (bags, size), or all bags in a row with `offsets` that say where each begins.
    `per_sample_weights` scale the rows of a sum; rows `padding_idx` do not count. With
    `max_norm`, rows of `weight` that are asked for and longer are first shortened.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum or mean or max")
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only"
                f" supported for mode='sum' (got mode='{mode}'). Please open a feature request on"
                " GitHub."
            )
        if per_sample_weights.shape != input.shape:
            raise ValueError(
                f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None,"
                f" then it must have the same shape as the input ({input.shape})"
            )
    bag, count = bags_of(input, offsets, include_last_offset)
    flat = input.reshape(-1)
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            "padding_idx must be within the number of embeddings, "
            f"{-rows} through {rows - 1}, but got {padding_idx}"
        )
    padding = -1 if padding_idx is None else padding_idx % rows
    if max_norm is not None:
        shorten(weight, flat, max_norm, norm_type)
    values = wgtorch.embedding(weight, flat, padding, scale_grad_by_freq, sparse)
    counts = flat != padding if padding >= 0 else wgtorch.ones_like(flat, dtype=wgtorch.bool)
    if include_last_offset and offsets is not None:
        counts = counts & (wgtorch.arange(flat.shape[0], device=flat.device) < offsets[-1])
    if per_sample_weights is not None:
        values = values * per_sample_weights.reshape(-1, 1)
    if mode == "max":
        return largest(values, bag, counts, count)
    values = values.masked_fill(~counts.unsqueeze(1), 0)
    total = values.new_zeros((count, weight.shape[1])).index_add(0, bag, values)
    if mode == "sum":
        return total
    size = values.new_zeros((count,)).index_add(0, bag, counts.to(values.dtype))
    return total / size.clamp(min=1).unsqueeze(1)


@wgtorch.no_grad()
def shorten(weight: Tensor, rows: Tensor, max_norm: float, norm_type: float) -> None:
    """Rows of `weight` that are asked for and longer than `max_norm` get that length, in place."""
    length = weight.norm(norm_type, 1)
    asked = wgtorch.zeros_like(length).index_fill(0, rows.flatten(), 1)
    too_long = (length > max_norm) & (asked != 0)
    factor = wgtorch.where(too_long, max_norm / (length + 1e-7), 1.0)
    weight.mul_(factor.unsqueeze(1))


def bags_of(input: Tensor, offsets: Tensor | None, last: bool) -> tuple[Tensor, int]:
    """(the bag that each index is in, how many bags there are)."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch"
                f" of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        count, size = input.shape
        return wgtorch.arange(count, device=input.device).repeat_interleave(size), count
    if input.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if last and not offsets.shape[0]:
        raise ValueError("include_last_offset: number of offsets should be at least 1")
    require(
        offsets[:1] == 0,
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from"
        " position 0",
    )
    length = input.shape[0]
    require(offsets[-1:] <= length, f"offsets[-1] can not be greater than input's length {length}")
    require(offsets[1:] >= offsets[:-1], "embedding_bag: offsets must not decrease")
    starts = offsets[:-1] if last else offsets
    places = wgtorch.arange(input.shape[0], device=input.device, dtype=starts.dtype)
    return wgtorch.searchsorted(starts, places, right=True) - 1, starts.shape[0]


def largest(values: Tensor, bag: Tensor, counts: Tensor, count: int) -> Any:
    """Of each bag; zeros where it is empty."""
    hidden = values.masked_fill(~counts.unsqueeze(1), -float("inf"))
    place = bag.unsqueeze(1).expand(values.shape)
    start = values.new_full((count, values.shape[1]), -float("inf"))
    found = start.scatter_reduce(0, place, hidden, "amax", include_self=False)
    return found.masked_fill(found.detach() == -float("inf"), 0)
