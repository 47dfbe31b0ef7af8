"""Compare puts measurements side by side: tasks in rows, their descriptions in columns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum

from wgtorch.utils.benchmark.measurement import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

BEST, GOOD, BAD, WORST = "\033[92m\033[1m", "\033[34m\033[1m", "\033[2m\033[91m", "\033[31m\033[1m"
PLAIN = "\033[0m" * 2
BETWEEN = "  |  "

RowKey = tuple[int, str, str]  # threads, environment, name


class Colorize(Enum):
    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements for each label; those of one task count as one."""

    def __init__(self, results: Iterable[Measurement]):
        self._results: list[Measurement] = []
        self._trims = self._warns = False
        self._colorize = Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(result)} instead."
                )
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Show no more digits than mean something."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show the fastest and the slowest of each column, or row, in colour."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Show the interquartile range of times that are far apart."""
        self._warns = True

    def print(self) -> None:
        print(str(self))

    def __str__(self) -> str:
        groups: defaultdict[str | None, list[Measurement]] = defaultdict(list)
        for result in Measurement.merge(self._results):
            groups[result.label].append(result)
        tables = (Table(g, self._colorize, self._trims, self._warns) for g in groups.values())
        return "\n".join(table.text() for table in tables)


class Table:
    """Measurements of one label."""

    def __init__(self, results: list[Measurement], colorize: Colorize, trims: bool, warns: bool):
        self.results, self.colorize, self.trims, self.warns = results, colorize, trims, warns
        self.unit, self.scale = select_unit(min(r.median for r in results))
        self.rows = sorted(ordered_unique([row_of(r) for r in results]), key=lambda row: row[:2])
        self.columns = ordered_unique([r.description for r in results])
        self.cells = {(row_of(r), r.description): r for r in results}

    def column(self, name: str | None) -> list[Measurement]:
        return [r for r in self.results if r.description == name]

    def numbers(self, name: str | None) -> dict[RowKey, str]:
        """The texts of a column, all equally long."""
        found = self.column(name)
        whole = [math.ceil(math.log10(r.median / self.scale)) for r in found]
        decimals = 1
        if self.trims:
            pairs = zip(found, whole, strict=True)
            decimals = min(max(r.significant_figures - digits, 0) for r, digits in pairs)
        length = max(whole) + decimals + bool(decimals)
        spread = 7 if self.warns and any(r.has_warnings for r in found) else 0

        def text(result: Measurement | None) -> str:
            if result is None:
                return " " * max(length + spread, 1 + decimals + bool(decimals))
            value, said = result.median / self.scale, ""
            if self.trims:
                value = trim_sigfig(value, result.significant_figures)
            if spread and result.has_warnings:
                said = f" (! {result.iqr / result.median * 100:.0f}%)"
            return f"{value:>{length}.{decimals}f}{said:>{spread}}"

        return {row: text(self.cells.get((row, name))) for row in self.rows}

    def names(self) -> list[str]:
        """What stands left of the rows: the environment only where it changes."""
        several = len({row[1] for row in self.rows}) > 1
        width = max(len(row[1]) for row in self.rows) + 4 if several else 4
        names, before = [], None
        for row in self.rows:
            new = several and row[:2] != before
            names.append("  " + (f"({row[1]})" if new else "").ljust(width) + row[2])
            before = row[:2]
        return names

    def best(self, row: RowKey, column: str | None) -> float:
        """The fastest of its row, or of those of its column with as many threads."""
        if self.colorize is Colorize.ROWWISE:
            return min(r.median for r in self.results if row_of(r) == row)
        return min(r.median for r in self.column(column) if r.num_threads == row[0])

    def coloured(self, text: str, row: RowKey, column: str | None) -> str:
        result = self.cells.get((row, column))
        if self.colorize is Colorize.NONE or result is None:
            return text
        value, best = result.median, self.best(row, column)
        if value <= best * 1.01 or value <= best + 100e-9:
            return BEST + text + PLAIN
        if value <= best * 1.1:
            return GOOD + text + PLAIN
        if value >= best * 5:
            return WORST + text + PLAIN
        return BAD + text + PLAIN if value >= best * 2 else text

    def text(self) -> str:
        names, heads = self.names(), [head or "" for head in self.columns]
        numbers = [self.numbers(column) for column in self.columns]
        first = max(map(len, names))
        widths = [
            max(len(head), *map(len, column.values()))
            for head, column in zip(heads, numbers, strict=True)
        ]
        lines = [BETWEEN.join(h.center(w) for h, w in zip(["", *heads], [first, *widths],
                                                          strict=True))]  # fmt: skip
        width, threads = len(lines[0]), None
        for name, row in zip(names, self.rows, strict=True):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(width, "-"))
            shown = zip(numbers, widths, self.columns, strict=True)
            cells = [self.coloured(n[row].center(w), row, c) for n, w, c in shown]
            lines.append(BETWEEN.join([name.ljust(first), *cells]))
        label = f" {self.results[0].label or ''} ".center(width - 2, "-")
        text = "\n".join([f"[{label}]", *lines])
        text += f"\n\nTimes are in {unit_to_english(self.unit)}s ({self.unit}).\n"
        if self.warns and any(r.has_warnings for r in self.results):
            text += "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        return text


def row_of(result: Measurement) -> RowKey:
    return result.num_threads, result.env, result.as_row_name
