"""What a program spends its time on: ops, kernels, copies, and the waits between them."""

from wgtorch.profiler import legacy as profiler
from wgtorch.profiler.event import DeviceType
from wgtorch.profiler.recorder import record_function
from wgtorch.profiler.scheduled import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)


def kineto_available() -> bool:
    """PyTorch's question whether kernels can be timed."""
    return ProfilerActivity.WebGPU in supported_activities()


def profiler_allow_cudagraph_cupti_lazy_reinit_cuda12() -> bool:
    """A question about a library of CUDA's, which is not here."""
    return False


__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "profiler",
    "profiler_allow_cudagraph_cupti_lazy_reinit_cuda12",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
