"""torch.cuda, for programs that ask for it: there is none, and what to use instead.

`torch.cuda.is_available()` is False, so programs take their cpu branch; `torch.webgpu` is the GPU.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from wgtorch import webgpu
from wgtorch.cuda import amp
from wgtorch.random import manual_seed

__all__ = [
    "amp", "device_count", "empty_cache", "is_available", "is_bf16_supported", "is_initialized",
    "manual_seed", "manual_seed_all", "max_memory_allocated", "memory_allocated",
    "reset_peak_memory_stats",
]  # fmt: skip


def is_available() -> bool:
    """False: wgtorch computes on any GPU, through WebGPU."""
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    return 0


def manual_seed_all(seed: int) -> None:
    """As `torch.manual_seed`, which seeds every device."""
    manual_seed(seed)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


def empty_cache() -> None:
    """Nothing was kept."""


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing was counted."""


def memory_allocated(device: Any = None) -> int:
    return 0


def max_memory_allocated(device: Any = None) -> int:
    return 0


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    places = {f"torch.webgpu.{name}": webgpu, f"torch.{name}": import_module("wgtorch")}
    other = next((there for there, room in places.items() if hasattr(room, name)), "torch.webgpu")
    raise AttributeError(
        f"torch.cuda.{name}: wgtorch computes on WebGPU, not CUDA; use {other}, and"
        " device='webgpu' (torch.webgpu.is_available() says whether there is a GPU)"
    )
