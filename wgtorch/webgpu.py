"""The WebGPU devices: whether there are any, what they remember, and waiting for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from wgtorch.autograd.ledger import ledger_of
from wgtorch.backend import backend
from wgtorch.device import Device

COUNTED = (
    "allocated_bytes.all.current", "allocated_bytes.all.peak", "reserved_bytes.all.current",
    "reserved_bytes.all.peak", "saved_tensors.d2h_bytes.total", "saved_tensors.h2d_bytes.total",
)  # fmt: skip


def _adapters() -> Any:
    return import_module("wgtorch.backends.webgpu.adapter")  # brings wgpu, so only when asked


def is_available() -> bool:
    """Whether an adapter is there. Never raises."""
    try:
        return _adapters().available()
    except ImportError:
        return False


def device_count() -> int:
    return _adapters().count() if is_available() else 0


def get_device_name(device: Any = None) -> str:
    return _home(device).gpu.traits.name


def get_device_properties(device: Any = None) -> Any:
    """What the adapter is and can do (`Traits`)."""
    return _home(device).gpu.traits


def synchronize(device: Any = None) -> None:
    """Computes what was called for so far and is alive, and waits for it; raises what only the
    GPU could see. An elementwise result that nobody holds any more is never computed; one that
    more than 16,384 others have followed waits until it is read."""
    _home(device).synchronize()


def memory_stats(device: Any = None) -> dict[str, int]:
    """Counters in PyTorch's words, in bytes; exact, without waiting for the GPU.

    `saved_tensors.*` count what hooks keep of this device's tensors, wherever that is. `d2h_bytes`
    and `h2d_bytes` are of all tensors that went to the cpu, also by `x.cpu()`, and came back; what
    is read at once, as by `x.item()`, is not among them. Of the cpu, only these are counted.
    """
    home = _opened(device)
    stats = dict.fromkeys(COUNTED, 0) | ({} if home is None else home.stats())
    return stats | ledger_of(_place(device)).stats()


def memory_allocated(device: Any = None) -> int:
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device: Any = None) -> int:
    return memory_stats(device)["allocated_bytes.all.peak"]


def reset_peak_memory_stats(device: Any = None) -> None:
    home = _opened(device)
    if home is not None:
        home.reset_peak()
    ledger_of(_place(device)).reset_peak()


def empty_cache() -> None:
    """Gives unused memory back to the driver."""
    home = _opened(None)
    if home is not None:
        home.empty_cache()


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of `memory_stats`."""
    rows = memory_stats(device).items()
    width = max(len(name) for name, _ in rows)
    lines = [f"{'wgtorch memory':<{width}} {'MiB':>12} {'bytes':>16}"]
    lines += [f"{name:<{width}} {value / 2**20:>12.3f} {value:>16,}" for name, value in rows]
    return "\n".join(lines)


def fallbacks() -> dict[str, int]:
    """Ops that ran on the cpu for lack of a kernel, and how often."""
    return dict(import_module("wgtorch.backends.webgpu.structured").fallbacks)


def _home(device: Any) -> Any:
    return backend(Device("webgpu") if device is None else Device(device))


def _opened(device: Any) -> Any:
    """The backend, if the device was ever used."""
    place = _place(device)
    return place.backend if place.type == "webgpu" else None


def _place(device: Any) -> Device:
    return Device("webgpu") if device is None else Device(device)
