"""Workers: threads that fetch batches ahead of the loop that reads them.

Threads, as the modules that take time there (numpy, image decoders, files) let others run
meanwhile, and as tensors then need no copy between processes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from typing import Any

local = threading.local()
END = object()  # what a worker gives whose stream is over


@dataclass(frozen=True)
class WorkerInfo:
    """Who asks: `id` of `num_workers`, a `seed` of its own, and the `dataset`."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """Of the worker that calls; None outside of workers."""
    return getattr(local, "info", None)


class Workers:
    """A thread each; task number i goes to worker i, counted around."""

    def __init__(self, count: int, init: Callable[[int], None] | None, dataset: Any, seed: int):
        infos = [WorkerInfo(k, count, seed + k, dataset) for k in range(count)]
        self.threads = [
            ThreadPoolExecutor(1, f"loader-{info.id}", start, (info, init)) for info in infos
        ]

    def close(self) -> None:
        for thread in self.threads:
            thread.shutdown(wait=False, cancel_futures=True)

    def run(
        self, fetchers: list[Callable], tasks: Iterator[Any], ahead: int, timeout: float
    ) -> Iterator[Any]:
        """Results in the order of the tasks; `ahead` tasks of each worker wait or are done."""
        active = list(range(len(self.threads)))
        waiting: deque[tuple[int, Future]] = deque()
        turn = 0

        def give_out() -> None:
            nonlocal turn
            while active and len(waiting) < ahead * len(active):
                try:
                    task = next(tasks)
                except StopIteration:
                    return
                worker = active[turn % len(active)]
                turn += 1
                waiting.append((worker, self.threads[worker].submit(fetchers[worker], task)))

        give_out()
        while waiting:
            worker, future = waiting.popleft()
            try:
                result = future.result(timeout or None)
            except LateError:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
            if result is END:
                if worker in active:
                    active.remove(worker)
            else:
                yield result
            give_out()


def start(info: WorkerInfo, init: Callable[[int], None] | None) -> None:
    local.info = info
    if init is not None:
        init(info.id)
