"""Collating: many samples of one structure into one batch of the same structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wgtorch import Tensor, as_tensor, float64, stack, tensor


def default_collate(batch: Sequence[Any]) -> Any:
    """Tensors, arrays and numbers become tensors with a new first dimension; strings lists.

    Mappings, tuples (also named ones) and lists are collated entry by entry.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SaUO":
            raise TypeError(UNFIT.format(first.dtype))
        return stack([as_tensor(sample) for sample in batch], 0)
    if isinstance(first, np.generic) and first.dtype.kind not in "SaUO":
        return as_tensor(np.stack(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return rebuilt(
            first, {key: default_collate([sample[key] for sample in batch]) for key in first}
        )
    if isinstance(first, Sequence):
        return collated_sequence(batch)
    raise TypeError(UNFIT.format(type(first)))


UNFIT = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def collated_sequence(batch: Sequence[Any]) -> Any:
    first = batch[0]
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    entries = [default_collate(samples) for samples in zip(*batch, strict=True)]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*entries)
    return entries if isinstance(first, tuple) else rebuilt(first, entries)


def default_convert(data: Any) -> Any:
    """Arrays in any structure become tensors; the rest stays as it is."""
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "SaUO":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return rebuilt(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple):
        entries = [default_convert(value) for value in data]
        return type(data)(*entries) if hasattr(data, "_fields") else entries
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return rebuilt(data, [default_convert(value) for value in data])
    return data


def rebuilt(like: Any, entries: Any) -> Any:
    """`entries` as the kind of collection `like` is, if that can be built from them."""
    try:
        return type(like)(entries)
    except TypeError:
        return entries
