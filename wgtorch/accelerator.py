"""torch.accelerator: the GPU, whichever it is, as programs for any device ask for it."""

from __future__ import annotations

from typing import Any

from wgtorch import webgpu
from wgtorch.device import Device


def is_available() -> bool:
    """Whether there is an adapter. Never raises."""
    return webgpu.is_available()


def current_accelerator(check_available: bool = False) -> Device | None:
    """The device "webgpu"; None where there is no adapter."""
    return Device("webgpu") if is_available() else None


def device_count() -> int:
    return webgpu.device_count()


def current_device_index() -> int:
    return 0


def synchronize(device: Any = None) -> None:
    """Waits for everything queued; raises what only the GPU could see."""
    webgpu.synchronize(device)


def empty_cache() -> None:
    webgpu.empty_cache()


def memory_allocated(device: Any = None) -> int:
    return webgpu.memory_allocated(device)


def max_memory_allocated(device: Any = None) -> int:
    return webgpu.max_memory_allocated(device)


def memory_stats(device: Any = None) -> dict[str, int]:
    return webgpu.memory_stats(device)


def reset_peak_memory_stats(device: Any = None) -> None:
    webgpu.reset_peak_memory_stats(device)
