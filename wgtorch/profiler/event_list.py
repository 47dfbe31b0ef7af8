"""EventList: events or their averages, with tables and traces."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wgtorch.profiler.event import DeviceType, FunctionEvent, FunctionEventAvg
from wgtorch.profiler.table import table_of
from wgtorch.profiler.trace import write_trace
from wgtorch.profiler.units import text_of_time

METRICS = ("self_cpu_time_total", "self_device_time_total", "self_cuda_time_total")


class EventList(list):
    """`key_averages()` adds up, `table()` prints, `export_chrome_trace()` draws."""

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
        metadata: dict[str, Any] | None = None,
    ):
        super().__init__(events)
        self._use_device, self._profile_memory = use_device, profile_memory
        self._with_flops, self._metadata = with_flops, metadata or {}

    @property
    def self_cpu_time_total(self) -> float:
        return sum([event.self_cpu_time_total for event in self])

    @property
    def supported_export_stacks_metrics(self) -> list[str]:
        return list(METRICS)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One row per name (and shapes, and the `n` innermost lines of the stack, if asked)."""
        groups: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key: tuple = (event.key, event.device_type, event.is_user_annotation)
            if group_by_input_shapes:
                key += (str(event.input_shapes),)
            if group_by_stack_n:
                key += tuple(event.stack[:group_by_stack_n])
            groups.setdefault(key, FunctionEventAvg()).add(event)
        for average in groups.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
        return self.like(groups.values())

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = None
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text.

        `sort_by`: cpu_time, device_time, cpu_time_total, device_time_total, cpu_memory_usage,
        device_memory_usage, self_cpu_time_total, self_device_time_total, self_cpu_memory_usage,
        self_device_memory_usage, count; `cuda` for `device` is understood. `time_unit`: s, ms, us.
        """
        rows = list(self)
        if top_level_events_only:
            rows = [event for event in rows if event.cpu_parent is None]
        return table_of(
            rows, self, sort_by, row_limit, time_unit, header,
            (max_name_column_width, max_shapes_column_width, max_src_column_width),
        )  # fmt: skip

    def export_chrome_trace(self, path: str | Path) -> None:
        """A file for chrome://tracing or ui.perfetto.dev."""
        write_trace(self, path, self._metadata)

    def export_stacks(self, path: str | Path, metric: str = "self_cpu_time_total") -> None:
        """Lines `outer;inner;... microseconds`, from which flame graphs are drawn."""
        if metric not in METRICS:
            raise ValueError(f"metric should be one of: {list(METRICS)}; got {metric!r}")
        lines = []
        for event in self:
            value = int(getattr(event, metric))
            if event.stack and value > 0:
                frames = [frame.translate(SAFE) for frame in reversed(event.stack)]
                lines.append(f"{';'.join(frames)} {value}\n")
        Path(path).write_text("".join(lines), encoding="utf-8")

    def like(self, events: Iterable[Any]) -> EventList:
        """Other events of the same recording."""
        return EventList(
            events, use_device=self._use_device, profile_memory=self._profile_memory,
            with_flops=self._with_flops, metadata=self._metadata,
        )  # fmt: skip

    @property
    def on_device(self) -> list[FunctionEvent]:
        return [event for event in self if event.device_type is not DeviceType.CPU]

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<EventList of {len(self)}, {text_of_time(self.self_cpu_time_total)} of cpu time>"


SAFE = str.maketrans(" ;\t\n", "____")
