"""Datasets: samples by index, or as a stream."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from wgtorch import Tensor, randperm

T = TypeVar("T")


class Dataset(Generic[T]):
    """Samples by index: a subclass writes `__getitem__`, and `__len__` for the samplers.

    `__getitems__(indices)`, if there is one, fetches a whole batch as a list.
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T]) -> ConcatDataset[T]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Samples as a stream: a subclass writes `__iter__`."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[T]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample i is element i, along the first dimension, of each of `tensors`."""

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor):
        if any(tensors[0].shape[0] != t.shape[0] for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset):
    """Sample i is sample i of each dataset: a tuple, or, if given by name, a dict."""

    def __init__(self, *args: Any, **kwargs: Any):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = kwargs or args
        lengths = {len(part) for part in (kwargs.values() or args)}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Several samples, each dataset asked once where it can give several."""
        named = isinstance(self.datasets, dict)
        datasets = self.datasets.values() if named else self.datasets
        columns = [items_of(dataset, indices) for dataset in datasets]
        rows = zip(*columns, strict=True)
        return [dict(zip(self.datasets, row, strict=True)) if named else row for row in rows]

    def __len__(self) -> int:
        return self._length


def items_of(dataset: Any, indices: list[int]) -> list[Any]:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    found = dataset.__getitems__(indices)
    if len(found) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(found)}"
        )
    return found


class ConcatDataset(Dataset[T]):
    """Datasets with lengths, one after the other."""

    def __init__(self, datasets: Iterable[Dataset[T]]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(part, IterableDataset) for part in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate([len(part) for part in self.datasets]))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T:
        size = len(self)
        if idx < -size:
            raise ValueError("absolute value of index should not exceed dataset length")
        if idx >= size:
            raise IndexError(f"index {idx} is out of range for a dataset of {size}")
        idx %= size
        place = bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[place - 1] if place else 0
        return self.datasets[place][idx - before]


class ChainDataset(IterableDataset[T]):
    """Streams, one after the other."""

    def __init__(self, datasets: Iterable[Dataset[T]]):
        self.datasets = datasets

    def __iter__(self) -> Iterator[T]:
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from part

    def __len__(self) -> int:
        return sum(len(part) for part in self.datasets)  # type: ignore[arg-type, misc]


class Subset(Dataset[T]):
    """The samples of `dataset` at `indices`."""

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: Any) -> T:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T]:
        chosen = [self.indices[i] for i in indices]
        fetch = getattr(self.dataset, "__getitems__", None)
        return fetch(chosen) if fetch else [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Any = None
) -> list[Subset[T]]:
    """Subsets of the given lengths (or, adding up to 1, fractions), drawn at random."""
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = shares(total, lengths)
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator).tolist()
    ends = list(accumulate(lengths))
    return [
        Subset(dataset, order[int(end - length) : int(end)])
        for end, length in zip(ends, lengths, strict=True)
    ]


def shares(total: int, fractions: Sequence[float]) -> list[int]:
    """Whole numbers in these proportions; what rounding leaves goes to the first ones."""
    for place, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {place} is not between 0 and 1")
    counts = [math.floor(total * fraction) for fraction in fractions]
    for place in range(total - sum(counts)):
        counts[place % len(counts)] += 1
    for place, count in enumerate(counts):
        if count == 0:
            warnings.warn(
                f"Length of split at index {place} is 0. This might result in an empty dataset.",
                stacklevel=3,
            )
    return counts
