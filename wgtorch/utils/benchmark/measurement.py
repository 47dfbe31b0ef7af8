"""A Measurement is what a timer found of a task: times, and what is between their quartiles."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import indent
from typing import Any

import numpy as np

import wgtorch

MOST_FIGURES = 4
LEAST_INTERVAL = 25e-9  # seconds that a clock is off by
FLUCTUATES, DISTURBED = 0.1, 0.25  # parts of the median
UNITS = {-3: ("ns", 1e-9), -2: ("us", 1e-6), -1: ("ms", 1e-3)}
SECONDS = "s", 1.0
ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


@dataclass(frozen=True, repr=False)
class TaskSpec:
    """What was measured, in the words of who measured it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        if self.label is None and "\n" in self.stmt:
            more = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{more}\n{indent(self.stmt, '  ')}"
        more = f": {self.sub_label}" if self.sub_label else ""
        return (self.stmt if self.label is None else self.label) + more

    def setup_str(self) -> str:
        if self.setup in ("", "pass"):
            return ""
        several = "\n" in self.setup
        return f"setup:\n{indent(self.setup, '  ')}" if several else f"setup: {self.setup}"

    def summarize(self) -> str:
        parts = (self.title, self.description or "", self.setup_str())
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


@dataclass(repr=False)
class Measurement:
    """`raw_times` in seconds, of `number_per_run` runs each; what of the task it was asks it."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds of one run, in each measurement."""
        return [time / self.number_per_run for time in self.raw_times]

    def _quantile(self, part: float) -> float:
        return float(np.quantile(self.times, part)) if self.raw_times else -1.0

    @property
    def median(self) -> float:
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        return float(np.mean(self.times)) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """From the first to the third quartile."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something, 1 to 4.

        By the 90 % interval of a normal distribution, of the times between the quartiles.
        """
        times, count = sorted(self.times), len(self.raw_times)
        inner = times[count // 4 : math.ceil(3 * count / 4)]
        interval = max(1.645 * float(np.std(inner)) / math.sqrt(len(inner)), LEAST_INTERVAL)
        figures = math.floor(math.log10(self.median / interval))
        return min(max(figures, 1), MOST_FIGURES)

    def meets_confidence(self, threshold: float = FLUCTUATES) -> bool:
        """Whether the interquartile range is less than this part of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        return bool(self._warnings())

    def _warnings(self) -> list[str]:
        if not self.raw_times or self.meets_confidence(FLUCTUATES):
            return []
        said = "could indicate system fluctuation."
        if not self.meets_confidence(DISTURBED):
            said = "suggests significant environmental influence."
        part = self.iqr / self.median * 100
        return [
            f"  WARNING: Interquartile range is {part:.1f}% of the median measurement.",
            f"           This {said}",
        ]

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def env(self) -> str:
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        count, (unit, scale) = len(self.raw_times), select_unit(self.median)
        low, high = self._quantile(0.25) / scale, self._quantile(0.75) / scale
        several = count > 1
        lines = [object.__repr__(self), *self.task_spec.summarize().split("\n")]
        lines.append(f"  {'Median: ' if several else ''}{self.median / scale:.2f} {unit}")
        if count >= 4:
            lines.append(f"  IQR:    {high - low:.2f} {unit} ({low:.2f} to {high:.2f})")
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(
            f"  {count} measurement{'s' if several else ''}, {self.number_per_run} runs "
            f"{'per measurement,' if several else ','} {threads}"
        )
        return "\n".join([*lines, *self._warnings()])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Those of equal tasks as one each."""
        groups: defaultdict[TaskSpec, list[float]] = defaultdict(list)
        for measurement in measurements:
            groups[measurement.task_spec] += measurement.times
        return [Measurement(1, times, task) for task, times in groups.items()]


def select_unit(t: float) -> tuple[str, float]:
    """(name, seconds) of the unit in which `t` seconds read well."""
    return UNITS.get(int(math.log10(t) // 3), SECONDS) if t > 0 else SECONDS


def unit_to_english(u: str) -> str:
    return ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """`x` rounded to `n` significant figures."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    return float(f"{x:.{int(n) - 1}e}")


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """What `get_num_threads` answers in the block."""
    before = wgtorch.get_num_threads()
    try:
        wgtorch.set_num_threads(n)
        yield
    finally:
        wgtorch.set_num_threads(before)
