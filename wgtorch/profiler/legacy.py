"""`autograd.profiler`: one recording as a context manager, and labels for other tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wgtorch.device import Device
from wgtorch.profiler.event import (
    DeviceType,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
)  # fmt: skip
from wgtorch.profiler.event_list import EventList
from wgtorch.profiler.patches import Patches
from wgtorch.profiler.recorder import Recorder, record_function
from wgtorch.profiler.session import Session, collect

DEVICES = ("webgpu", "cuda", "gpu")  # names for the one kind of GPU there is
UNUSED = ("use_kineto", "experimental_config", "acc_events", "custom_trace_id_callback",
          "post_processing_timeout_s", "activity_filters")  # fmt: skip


class profile:
    """Records the ops inside: `with profile(use_device="webgpu") as prof: ...; print(prof)`.

    With `use_device` kernels and copies are timed on the GPU, and each hangs on the op that asked
    for it (a fused kernel on the op that needed its result). `record_shapes` notes the shapes of
    inputs, `profile_memory` bytes taken and given back, `with_stack` the lines of the program,
    `with_flops` operations of products and sums, `with_modules` calls of modules. Inside, saved
    tensors leave events of their own: pack, unpack, copies and waits. What PyTorch has for its own
    backends (use_kineto and the like) is accepted. Ops are found where classes and modules have
    them: one that a local variable took out of there before is not seen.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_cpu: bool = True,
        **unused: Any,
    ):
        strange = [name for name in unused if name not in UNUSED]
        if strange:
            raise TypeError(f"profile.__init__() got an unexpected keyword argument {strange[0]!r}")
        if use_device not in (None, *DEVICES):
            raise ValueError(f"profile: use_device is webgpu or None, not {use_device!r}")
        self.enabled, self.entered = enabled, False
        self.use_device = "webgpu" if use_device or use_cuda else None
        self.options = {
            "cpu": use_cpu, "gpu": self.use_device is not None, "record_shapes": record_shapes,
            "profile_memory": profile_memory, "with_stack": with_stack, "with_flops": with_flops,
            "with_modules": with_modules,
        }  # fmt: skip
        self.session: Session | None = None
        self.function_events: EventList | None = None

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.enabled:
            self.stop()

    def start(self) -> None:
        self.session = collect(self.options)

    def stop(self) -> None:
        if self.session is not None:
            self.function_events, self.session = self.session.stop(), None

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    @property
    def self_cpu_time_total(self) -> float:
        return self._events().self_cpu_time_total

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        return self._events().total_average()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        return self._events().table(
            sort_by, row_limit, max_src_column_width, max_name_column_width,
            max_shapes_column_width, header, top_level_events_only,
        )  # fmt: skip

    def toggle_collection_dynamic(self, enabled: bool, activities: Any = ()) -> None:
        """Goes on recording, or leaves out what runs from here on."""
        if self.session is not None:
            self.session.listen(enabled)

    def export_chrome_trace(
        self, path: str | Path, metadata: Any = None, use_python_export: bool = False
    ) -> None:
        self._events().export_chrome_trace(path)

    def export_stacks(self, path: str | Path, metric: str = "self_cpu_time_total") -> None:
        self._events().export_stacks(path, metric)

    def __str__(self) -> str:
        if self.function_events is None:
            return "<unfinished profiler_legacy.profile>"
        return str(self.function_events)

    def __repr__(self) -> str:
        return str(self)


class emit_nvtx:
    """Inside, the GPU's work carries the names of the ops that asked for it, and of
    `record_function`, as WebGPU debug groups: RenderDoc, Nsight and Xcode show them."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False
        self.patches = Patches()
        self.session: Session | None = None

    def __enter__(self) -> emit_nvtx | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        self.entered = True
        self.session = collect({"gpu": False, "record_shapes": self.record_shapes})
        recorder = self.session.recorder
        recorder.events = Forgetful()
        for device in list(Device._known.values()):
            if device.type == "webgpu" and device.backend is not None:
                queue = device.backend.queue
                self.patches.put(queue, "record", labelled(queue, queue.record, recorder))
        return self

    def __exit__(self, *exception: object) -> None:
        if self.session is not None:
            self.patches.undo()
            self.session.stop()
            self.session = None


class Forgetful(list):
    """Events that only are there to be named."""

    def append(self, event: Any) -> None:
        pass


def labelled(queue: Any, plain: Callable, recorder: Recorder) -> Callable:
    def record(*args: Any) -> None:
        path, event = [], recorder.thread.top
        while event is not None:
            shapes = f" {event.input_shapes}" if event.input_shapes else ""
            path.append(event.name + shapes)
            event = event.cpu_parent
        for name in reversed(path):
            queue.push_label(name)
        plain(*args)
        for _ in path:
            queue.pop_label()

    return record


EmitNvtxContext, ProfilerContext, ProfilerKeyAverages = emit_nvtx, profile, EventList
emit_itt = emit_nvtx  # there is one kind of label

__all__ = [
    "DeviceType",
    "EmitNvtxContext",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "ProfilerContext",
    "ProfilerKeyAverages",
    "emit_itt",
    "emit_nvtx",
    "profile",
    "record_function",
]
