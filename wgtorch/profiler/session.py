"""A Session is one recording: what is watched from `start` to `stop`, and the events of it."""

from __future__ import annotations

import gc
from typing import Any

from wgtorch import webgpu
from wgtorch.profiler.backward import (
    watch_backward,
    watch_modules,
    watch_optimizers,
    watch_saved,
)  # fmt: skip
from wgtorch.profiler.event_list import EventList
from wgtorch.profiler.gpu import Lanes
from wgtorch.profiler.ops import watch_ops
from wgtorch.profiler.patches import Patches
from wgtorch.profiler.recorder import Recorder


class Session:
    """Only one at a time. `gpu`: whether kernels are timed; needs an adapter."""

    def __init__(
        self,
        *,
        cpu: bool = True,
        gpu: bool = False,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ):
        self.cpu, self.gpu, self.with_modules = cpu, gpu, with_modules
        self.recorder = Recorder(record_shapes, profile_memory, with_stack, with_flops, cpu)
        self.patches = Patches()
        self.lanes: Lanes | None = None

    def start(self) -> None:
        if Recorder.current is not None:
            raise RuntimeError("Profiler is already enabled on this thread")
        recorder, patches = self.recorder, self.patches
        try:
            watch_ops(patches)
            watch_backward(patches)
            watch_saved(patches)
            watch_optimizers(patches)
            if self.with_modules:
                watch_modules(patches)
            if self.gpu:
                self.lanes = Lanes(recorder, patches)
        except BaseException:
            patches.undo()
            raise
        recorder.restart()
        Recorder.current = recorder

    def listen(self, enabled: bool) -> None:
        """Whether what runs now is recorded."""
        Recorder.current = self.recorder if enabled else None

    def stop(self) -> EventList:
        """Has the GPUs compute what is alive, waits for them, and gives what was recorded."""
        recorder = self.recorder
        try:
            if self.lanes is not None:
                self.lanes.finish()
        finally:  # whatever a kernel complained of
            Recorder.current = None
            self.patches.undo()
            if self.lanes is not None:
                self.lanes.stop()
        events = sorted(recorder.events, key=lambda event: (event.start, -event.end))
        if not self.cpu:
            events = [event for event in events if event.is_on_device or event.kind == "user"]
        recorder.packed.clear()
        return EventList(
            events,
            use_device="webgpu" if self.gpu else None,
            profile_memory=recorder.memory,
            with_flops=recorder.flops,
        )


def has_gpu() -> bool:
    return webgpu.is_available()


def collect(options: dict[str, Any]) -> Session:
    """A session that has begun."""
    gc.collect(0)
    session = Session(**options)
    session.start()
    return session
