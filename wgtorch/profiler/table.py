"""The table of an EventList, column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wgtorch.profiler.units import flops_unit, text_of_bytes, text_of_share, text_of_time

SORTS = ("cpu_time", "device_time", "cpu_time_total", "device_time_total", "cpu_memory_usage",
         "device_memory_usage", "self_cpu_time_total", "self_device_time_total",
         "self_cpu_memory_usage", "self_device_memory_usage", "count")  # fmt: skip
LEAST = 12  # characters of a column


class Column(NamedTuple):
    title: str
    text: Callable[[Any], str]
    left: bool = False
    most: int | None = None


def sort_name(sort_by: str) -> str:
    name = sort_by.replace("cuda", "device").replace("webgpu", "device")
    if name not in SORTS:
        raise ValueError(f"table(): sort_by is one of {', '.join(SORTS)}; got {sort_by!r}")
    return name


def table_of(
    rows: list[Any], events: Any, sort_by: str | None, row_limit: int, unit: str | None,
    header: str | None, widths: tuple[int, int, int],
) -> str:  # fmt: skip
    """`events` are all of which `rows` are shown: shares are of their sums."""
    if not rows:
        return ""
    if unit not in (None, "s", "ms", "us"):
        raise ValueError(f"table(): time_unit is s, ms or us; got {unit!r}")
    if sort_by is not None:
        name = sort_name(sort_by)
        rows = sorted(rows, key=lambda event: getattr(event, name), reverse=True)
    cpu = sum([event.self_cpu_time_total for event in events])
    on_device = [event for event in events if event.device_type.value]
    device = sum([event.self_device_time_total for event in on_device]) or sum(
        [event.self_device_time_total for event in events]
    )
    columns = columns_of(rows, events, (cpu, device), unit, widths)
    cells = [[column.text(row) for column in columns] for row in rows[: max(0, row_limit)]]
    lines = laid_out(columns, cells, header)
    lines.append(f"Self CPU time total: {text_of_time(cpu, unit)}")
    if device:
        lines.append(f"Self {device_name(events)} time total: {text_of_time(device, unit)}")
    return "\n".join(lines) + "\n"


def device_name(events: Any) -> str:
    return "WebGPU" if (events._use_device or "webgpu") == "webgpu" else events._use_device.upper()


def columns_of(
    rows: Sequence[Any], events: Any, sums: tuple[float, float], unit: str | None,
    widths: tuple[int, int, int],
) -> list[Column]:  # fmt: skip
    cpu, device = sums
    word = device_name(events)
    columns = [
        Column("Name", lambda row: str(row.key), most=widths[0]),
        share("Self CPU %", "self_cpu_time_total", cpu),
        time("Self CPU", "self_cpu_time_total", unit),
        share("CPU total %", "cpu_time_total", cpu),
        time("CPU total", "cpu_time_total", unit),
        time("CPU time avg", "cpu_time", unit),
    ]
    if device:
        columns += [
            time(f"Self {word}", "self_device_time_total", unit),
            share(f"Self {word} %", "self_device_time_total", device),
            time(f"{word} total", "device_time_total", unit),
            time(f"{word} time avg", "device_time", unit),
        ]
    if events._profile_memory:
        columns += [size("CPU Mem", "cpu_memory_usage"), size("Self CPU Mem", CPU_MEMORY)]
        if events._use_device:
            columns += [size(f"{word} Mem", "device_memory_usage"),
                        size(f"Self {word} Mem", "self_device_memory_usage")]  # fmt: skip
    columns.append(Column("# of Calls", lambda row: str(row.count)))
    return columns + columns_asked_for(rows, events, widths)


CPU_MEMORY = "self_cpu_memory_usage"


def columns_asked_for(
    rows: Sequence[Any], events: Any, widths: tuple[int, int, int]
) -> list[Column]:
    """Those of options: shapes, lines of the program, operations."""
    columns = []
    if any(row.input_shapes for row in rows):
        columns.append(Column("Input Shapes", lambda r: str(r.input_shapes), most=widths[1]))
    if any(row.stack for row in rows):
        columns.append(Column("Source Location", lambda r: (r.stack or [""])[0], True, widths[2]))
    if events._with_flops:
        scale, title = flops_unit(max((row.flops or 0 for row in rows), default=0))
        columns.append(Column(title, lambda row: f"{row.flops / scale:.3f}" if row.flops else "--"))
    return columns


def time(title: str, name: str, unit: str | None) -> Column:
    return Column(title, lambda row: text_of_time(getattr(row, name), unit))


def share(title: str, name: str, whole: float) -> Column:
    return Column(title, lambda row: text_of_share(getattr(row, name), whole))


def size(title: str, name: str) -> Column:
    return Column(title, lambda row: text_of_bytes(getattr(row, name)))


def laid_out(columns: list[Column], cells: list[list[str]], header: str | None) -> list[str]:
    widths = []
    for i, column in enumerate(columns):
        longest = max([len(column.title), *(len(row[i]) for row in cells)]) + 2
        most = longest if column.most is None else max(column.most, len(column.title))
        widths.append(max(LEAST, min(longest, most)))
    rule = "  ".join("-" * width for width in widths)

    def line(texts: Sequence[str]) -> str:
        fitted = []
        for column, text, width in zip(columns, texts, widths, strict=True):
            if len(text) > width:
                text = text[: width - 3] + "..."
            fitted.append(text.ljust(width) if column.left else text.rjust(width))
        return "  ".join(fitted)

    lines = [] if header is None else ["=" * len(rule), header]
    lines += [rule, line([column.title for column in columns]), rule]
    return [*lines, *map(line, cells), rule]
