"""The threads of the cpu device: numpy computes without Python's lock, so several can."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from queue import SimpleQueue
from threading import Thread

from wgtorch.backends.quiet import IGNORE, hush
from wgtorch.settings import get_num_threads

EACH = 4  # ranges for each thread
MOST = 64  # threads, of which memory does not keep more busy
Range = Callable[[int, int], None]  # does what is to be done from here to there


class Work:
    """Ranges that are still to be done, by whoever is free: the asker alone, if no helper is."""

    def __init__(self, do: Range, ranges: list[tuple[int, int]]):
        self.do: Range | None = do
        self.ranges, self.ends = ranges, SimpleQueue[BaseException | None]()

    def go_on(self) -> None:
        while True:
            try:
                start, stop = self.ranges.pop()
            except IndexError:
                return
            end = None
            try:
                self.do(start, stop)  # type: ignore[misc]
            except BaseException as error:
                end = error
            self.ends.put(end)


class Helpers:
    """Threads that wait for work. Each starts when it is first wanted, and stays."""

    def __init__(self) -> None:
        self.count, self.works = 0, SimpleQueue[Work]()

    def join(self, work: Work, count: int) -> None:
        try:
            while self.count < count:
                Thread(target=help_with, args=(self.works,), name="wgtorch", daemon=True).start()
                self.count += 1
        except RuntimeError:  # no more threads, or Python is about to end
            count = self.count
        for _ in range(count):
            self.works.put(work)


def help_with(works: SimpleQueue[Work]) -> None:
    hush(IGNORE)
    while True:
        works.get().go_on()


helpers = Helpers()


def forget() -> None:
    """In a forked child, which has none of its parent's threads."""
    global helpers
    helpers = Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)


def share(size: int, most: int, do: Range) -> None:
    """Does range(size) in up to `most` ranges, by as many threads as `set_num_threads` allows.

    There are more ranges than threads: one that has to wait for its core then does fewer.
    """
    threads = min(get_num_threads(), MOST)
    count = min(threads * EACH, size, most)
    if threads < 2 or count < 2:
        return do(0, size)
    bounds = [size * i // count for i in range(count + 1)]
    work = Work(do, [*pairwise(bounds)])
    helpers.join(work, min(threads, count) - 1)
    work.go_on()
    ends = [work.ends.get() for _ in range(count)]
    work.do = None  # a helper may hold the work a little longer, but not what it is about
    failed = next((end for end in ends if end is not None), None)
    if failed is not None:
        try:
            raise failed
        finally:
            del failed, ends  # or it would hold this frame, and the frame it
