"""`torch.profiler`: recordings that come and go by a schedule of steps."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

from wgtorch.profiler.event_list import EventList
from wgtorch.profiler.recorder import record_function
from wgtorch.profiler.session import Session, collect, has_gpu


class ProfilerAction(Enum):
    """What a step is for."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """What is recorded. The GPU has PyTorch's name, too."""

    CPU = 0
    WebGPU = 2
    CUDA = WebGPU


Schedule = Callable[[int], ProfilerAction]


def supported_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU, ProfilerActivity.WebGPU} if has_gpu() else {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Schedule:  # fmt: skip
    """Cycles of steps: `wait` of nothing, `warmup`, `active` recorded; `repeat` times (0: always).

    `skip_first` steps come before the first cycle; with `skip_first_wait`, that one has no wait.
    """
    for name, value in (("wait", wait), ("warmup", warmup), ("repeat", repeat),
                        ("skip_first", skip_first)):  # fmt: skip
        if value < 0:
            raise AssertionError(f"Invalid profiler schedule arguments: {name}={value}")
    if active <= 0:
        raise AssertionError(f"Invalid profiler schedule arguments: active={active}")

    def action(step: int) -> ProfilerAction:
        assert step >= 0
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == cycle - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def always(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:  # fmt: skip
    """For `on_trace_ready`: a file for each recording, named as TensorBoard looks for it."""

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return handler


class profile:
    """Records ops and kernels, all the time or by a `schedule` of steps.

    Call `step()` after each step of the training; `on_trace_ready(self)` gets each recording that
    is complete. What to record is as in `autograd.profiler.profile`; `activities` default to cpu
    and GPU, where there is one.

    Example::

        with profile(schedule=schedule(wait=1, warmup=1, active=2),
                     on_trace_ready=tensorboard_trace_handler("log")) as prof:
            for batch in data:
                train(batch)
                prof.step()
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ):
        chosen = supported_activities() if activities is None else set(activities)
        if not chosen:
            raise AssertionError("No valid profiler activities found")
        if use_cuda:
            chosen.add(ProfilerActivity.WebGPU)
        self.activities = chosen
        self.options = {
            "cpu": ProfilerActivity.CPU in chosen, "gpu": ProfilerActivity.WebGPU in chosen,
            "record_shapes": record_shapes, "profile_memory": profile_memory,
            "with_stack": with_stack, "with_flops": with_flops, "with_modules": with_modules,
        }  # fmt: skip
        self.schedule, self.record_steps = schedule or always, schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.metadata: dict[str, Any] = {}
        self.session: Session | None = None
        self.begun = False  # whether there ever was one
        self.found: EventList | None = None
        self.step_record: record_function | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    # Steps

    def start(self) -> None:
        if self.is_recording(self.current_action):
            self.begin()
        self.enter_step()

    def stop(self) -> None:
        self.leave_step()
        if self.session is not None or self.is_recording(self.current_action):
            self.finish()

    def step(self) -> None:
        """The next step of the schedule begins."""
        self.leave_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self.finish()
        if self.is_recording(self.current_action):
            if before is not ProfilerAction.RECORD and self.session is None:
                self.begin()
        elif self.session is not None:
            self.session.stop()  # a schedule that never saves
            self.session = None
        self.enter_step()

    @staticmethod
    def is_recording(action: ProfilerAction) -> bool:
        return action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def begin(self) -> None:
        self.session, self.begun = collect(self.options), True

    def finish(self) -> None:
        self.initialized("stopping trace")
        if self.session is None:
            return
        self.found, self.session = self.session.stop(), None
        self.found._metadata = self.metadata
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def initialized(self, what: str) -> None:
        if not self.begun:
            raise AssertionError(f"Profiler must be initialized before {what}")

    def prepare_trace(self) -> None:
        """Nothing has to be prepared."""

    start_trace, stop_trace = begin, finish

    def toggle_collection_dynamic(self, enable: bool, activities: Any = ()) -> None:
        """Goes on recording, or leaves out what runs from here on."""
        if self.session is not None:
            self.session.listen(enable)

    def enter_step(self) -> None:
        if self.record_steps and self.session is not None:
            self.step_record = record_function(f"ProfilerStep#{self.step_num}")
            self.step_record.__enter__()

    def leave_step(self) -> None:
        if self.step_record is not None:
            self.step_record.__exit__(None, None, None)
            self.step_record = None

    # What was found

    def events(self, what: str = "accessing events") -> EventList:
        self.initialized(what)
        if self.found is None:
            raise RuntimeError("Profiler didn't finish running: no recording is complete yet")
        return self.found

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:  # fmt: skip
        return self.events("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n
        )

    def table(self, sort_by: str | None = None, row_limit: int = 100, **layout: Any) -> str:
        return self.events().table(sort_by, row_limit, **layout)

    def export_chrome_trace(self, path: str | Path, use_python_export: bool = False) -> None:
        self.events("exporting chrome trace").export_chrome_trace(path)

    def export_stacks(self, path: str | Path, metric: str = "self_cpu_time_total") -> None:
        self.events("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Into the traces exported from here on."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        self.metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json
