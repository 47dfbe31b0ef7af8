"""A DataLoader reads a dataset in batches: in which order, how many at once, how joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, repeat
from typing import Any, Generic, TypeVar

from wgtorch import Tensor, randint, tensor
from wgtorch.utils.data.collate import default_collate, default_convert
from wgtorch.utils.data.dataset import Dataset, IterableDataset, Subset, TensorDataset
from wgtorch.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from wgtorch.utils.data.worker import END, Workers

T = TypeVar("T")


SETTLED = (
    "batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"
)  # fmt: skip


class DataLoader(Generic[T]):
    """`for batch in loader`: samples of `dataset`, `batch_size` at a time, collated.

    `batch_size=None` gives single samples. `num_workers` threads fetch ahead, in order.
    `pin_memory`, `multiprocessing_context`, `pin_memory_device` and `in_order` are accepted
    and change nothing: transfers are staged in pooled memory in any case.
    """

    def __init__(
        self,
        dataset: Dataset[T],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable | None = None,
        batch_sampler: Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        self._stream = isinstance(dataset, IterableDataset)
        check_workers(
            num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context
        )
        if self._stream:
            check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.timeout = num_workers, timeout
        self.prefetch_factor = (prefetch_factor or 2) if num_workers else None
        self.persistent_workers, self.worker_init_fn = persistent_workers, worker_init_fn
        self.pin_memory, self.generator = pin_memory, generator
        self.sampler: Any = sampler
        if sampler is None and not self._stream:
            random = RandomSampler(dataset, generator=generator) if shuffle else None  # type: ignore[arg-type]
            self.sampler = random or SequentialSampler(dataset)  # type: ignore[arg-type]
        self.batch_sampler = batch_sampler
        if batch_sampler is None and batch_size is not None and not self._stream:
            self.batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        batches = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batches else default_convert)
        self._kept: Workers | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in SETTLED and "_kept" in vars(self):  # what was made of it would not follow
            raise ValueError(f"{name} attribute should not be set after DataLoader is initialized")
        super().__setattr__(name, value)

    def __len__(self) -> int:
        if not self._stream:
            tasks = self.sampler if self.batch_sampler is None else self.batch_sampler
            return len(tasks)  # type: ignore[arg-type]
        length: int = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        whole, rest = divmod(length, self.batch_size)
        return whole if self.drop_last or not rest else whole + 1

    def __iter__(self) -> Batches:
        if self.timeout and not self.num_workers:  # nobody is waited for
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        return Batches(self)

    @property
    def multiprocessing_context(self) -> None:
        return None

    # How it is read

    def _tasks(self) -> Iterator[Any]:
        if self._stream:
            return repeat(None)
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _fetcher(self) -> Callable[[Any], Any]:
        if self._stream:
            return Stream(self).next_batch
        return self._sample if self.batch_sampler is None else self._batch

    def _sample(self, index: Any) -> Any:
        return self.collate_fn(self.dataset[index])  # type: ignore[arg-type]

    def _batch(self, indices: list) -> Any:
        if self.collate_fn is default_collate:
            whole = gathered(self.dataset, indices)
            if whole is not None:
                return whole
        fetch = getattr(self.dataset, "__getitems__", None)
        samples = fetch(indices) if fetch else [self.dataset[index] for index in indices]
        return self.collate_fn(samples)

    def _read(self) -> Iterator[Any]:
        if not self.num_workers:
            fetch = self._fetcher()
            for task in self._tasks():
                batch = fetch(task)
                if batch is END:
                    return
                yield batch
            return
        workers = self._kept
        if workers is None:
            seed = int(randint(0, 2**31 - 1, (), generator=self.generator))
            workers = Workers(self.num_workers, self.worker_init_fn, self.dataset, seed)
            self._kept = workers if self.persistent_workers else None
        fetchers = [self._fetcher() for _ in range(self.num_workers)]
        try:
            yield from workers.run(fetchers, self._tasks(), self.prefetch_factor or 2, self.timeout)
        finally:
            if workers is not self._kept:
                workers.close()


class Batches:
    """One pass over a loader."""

    def __init__(self, loader: DataLoader):
        self.loader, self.batches = loader, loader._read()

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        return next(self.batches)

    def __len__(self) -> int:
        return len(self.loader)


class Stream:
    """One pass over an IterableDataset; opened by whoever reads first, which is its worker."""

    def __init__(self, loader: DataLoader):
        self.loader = loader
        self.samples: Iterator | None = None

    def next_batch(self, _: None) -> Any:
        loader = self.loader
        if self.samples is None:
            self.samples = iter(loader.dataset)  # type: ignore[call-overload]
        if loader.batch_size is None:
            sample = next(self.samples, END)
            return sample if sample is END else loader.collate_fn(sample)  # type: ignore[arg-type]
        batch = list(islice(self.samples, loader.batch_size))
        if not batch or (loader.drop_last and len(batch) < loader.batch_size):
            return END
        return loader.collate_fn(batch)


def gathered(dataset: Any, indices: list) -> list[Tensor] | None:
    """The batch of a TensorDataset, or of a part of one, in one gather for each tensor."""
    while type(dataset) is Subset:
        indices, dataset = [dataset.indices[i] for i in indices], dataset.dataset
    if type(dataset) is not TensorDataset:
        return None
    count = len(dataset)
    for index in indices:
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {count}")
    places = tensor([index % count for index in indices])
    return [t.index_select(0, places.to(t.device)) for t in dataset.tensors]


def check_workers(
    count: int, timeout: float, ahead: int | None, persistent: bool, context: Any
) -> None:
    if count < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if count == 0 and ahead is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers "
            "> 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if ahead is not None and ahead < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and count == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None and count == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0),"
            " but got num_workers=0"
        )


def check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    for name, value in (("shuffle", shuffle), ("sampler", sampler)):
        if value not in (None, False):
            raise ValueError(
                "DataLoader with IterableDataset: expected unspecified "
                f"{name} option, but got {name}={value}"
            )
    if batch_sampler is not None:
        raise ValueError(
            "DataLoader with IterableDataset: expected unspecified batch_sampler option, "
            f"but got batch_sampler={batch_sampler}"
        )
