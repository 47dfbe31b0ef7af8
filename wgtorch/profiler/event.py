"""An Event is something that took time: an op, a part of the user's program, a kernel, a copy.

Events of a thread nest; `cpu_time` counts what is inside, `self_cpu_time` does not. Work that an op
gave to the GPU hangs on it as `kernels`. Times are in microseconds since the start of recording.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from wgtorch.profiler.units import text_of_time


class DeviceType(Enum):
    CPU = 0
    CUDA = 1  # what PyTorch calls any GPU that it knows well
    WebGPU = 2


class Interval(NamedTuple):
    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class Kernel(NamedTuple):
    """GPU work that belongs to an op."""

    name: str
    device: int
    duration: float


def formatted(name: str) -> property:
    """A time as text with a unit."""
    return property(lambda self: text_of_time(getattr(self, name)))


class Times:
    """What events and their averages can be asked in the same words."""

    count: int
    cpu_time_total: float
    device_time_total: float
    self_cpu_time_total: float
    self_device_time_total: float
    device_memory_usage: int
    self_device_memory_usage: int

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        return self.device_time_total / self.count if self.count else 0.0

    cpu_time_str = formatted("cpu_time")
    device_time_str = formatted("device_time")
    cpu_time_total_str = formatted("cpu_time_total")
    device_time_total_str = formatted("device_time_total")
    self_cpu_time_total_str = formatted("self_cpu_time_total")
    self_device_time_total_str = formatted("self_device_time_total")
    # as older PyTorch says
    cuda_time = property(lambda self: self.device_time)
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)
    cuda_memory_usage = property(lambda self: self.device_memory_usage)
    self_cuda_memory_usage = property(lambda self: self.self_device_memory_usage)


class FunctionEvent(Times):
    """One occurrence. `facts` are what a trace shows of it: op, slot, bytes and the like."""

    count = 1
    node_id = -1
    is_async = is_remote = is_legacy = False

    def __init__(self, id: int, name: str, kind: str, thread: int, parent: FunctionEvent | None):
        self.id, self.name, self.kind, self.thread = id, name, kind, thread
        self.start = self.end = 0.0
        self.cpu_parent, self.cpu_children = parent, list[FunctionEvent]()
        if parent is not None:
            parent.cpu_children.append(self)
        self.kernels: list[Kernel] = []
        self.device_type = DeviceType.CPU
        self.facts: dict[str, Any] = {}
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.cpu_memory_usage = self.device_memory_usage = 0
        self.flops: int | None = None
        self.sequence_nr = -1
        self.scope = 1 if kind == "backward" else 7 if kind == "user" else 0
        self.is_user_annotation = kind == "user"
        self.fwd_thread: int | None = None

    @property
    def key(self) -> str:
        return self.name

    @property
    def time_range(self) -> Interval:
        return Interval(self.start, self.end)

    @property
    def is_on_device(self) -> bool:
        return self.device_type is not DeviceType.CPU

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return 0.0 if self.is_on_device else self.end - self.start

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        inside = sum(child.cpu_time_total for child in self.cpu_children)
        return max(0.0, self.cpu_time_total - inside)

    @property
    def self_device_time_total(self) -> float:  # type: ignore[override]
        if self.is_on_device:
            return self.end - self.start
        return sum(kernel.duration for kernel in self.kernels)

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        inside = sum(child.device_time_total for child in self.cpu_children)
        return self.self_device_time_total + inside

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.cpu_memory_usage - sum(c.cpu_memory_usage for c in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:  # type: ignore[override]
        return self.device_memory_usage - sum(c.device_memory_usage for c in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} device_type={self.device_type}"
            f" cpu_time={self.cpu_time_str} start_us={self.start:.3f} end_us={self.end:.3f}"
            f" cpu_children={[child.id for child in self.cpu_children]}"
            f" device_time={self.device_time_str} thread={self.thread}"
            f" input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}"
            f" device_memory_usage={self.device_memory_usage} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(Times):
    """Events of one key, added up."""

    def __init__(self) -> None:
        self.key: Any = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.input_shapes: Any = None
        self.stack: list[str] = []
        self.flops = 0
        self.device_type = DeviceType.CPU
        self.is_user_annotation = False
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    SUMS = ("count", "cpu_time_total", "self_cpu_time_total", "device_time_total",
            "self_device_time_total", "cpu_memory_usage", "self_cpu_memory_usage",
            "device_memory_usage", "self_device_memory_usage")  # fmt: skip

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        if self.key is None:
            self.key, self.device_type = other.key, other.device_type
            self.input_shapes, self.stack = other.input_shapes, other.stack
            self.is_user_annotation = other.is_user_annotation
            self.cpu_parent = other.cpu_parent
        for name in self.SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str}"
            f" cpu_time={self.cpu_time_str}  self_device_time={self.self_device_time_total_str}"
            f" device_time={self.device_time_str} input_shapes={self.input_shapes}"
            f" cpu_memory_usage={self.cpu_memory_usage}"
            f" device_memory_usage={self.device_memory_usage}>"
        )
