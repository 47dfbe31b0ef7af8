"""An adapter is a GPU, or a program that acts as one, as a driver offers it to WebGPU.

This room lists them best first, chooses one, and opens it with what it has to offer. Number N of
`webgpu:N` counts in `order()`: the chosen adapter is 0, the rest follow best first.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import wgpu
from wgpu.backends.wgpu_native import lib_version_info

from wgtorch.config import ADAPTER, trace

KINDS = {"DiscreteGPU": "discrete", "IntegratedGPU": "integrated", "CPU": "cpu"}
RANKS = ("discrete", "integrated", "other", "cpu")
BACKENDS = {"D3D12": "DX12", "D3D11": "DX11"}  # wgpu's word: ours
BACKEND_WORDS = {"gl": "OpenGL", "opengl": "OpenGL", "vulkan": "Vulkan", "metal": "Metal",
                 "dx12": "DX12", "d3d12": "DX12"}  # fmt: skip
SOFTWARE = re.compile("llvmpipe|lavapipe|softpipe|swiftshader|software|basic render", re.I)

FEATURES = ("shader-int64", "shader-f64", "shader-f16", "subgroup", "timestamp-query",
            "immediates", "mappable-primary-buffers")  # fmt: skip
LIMITS = ("max-storage-buffers-per-shader-stage", "max-storage-buffer-binding-size",
          "max-buffer-size", "max-compute-workgroup-storage-size",
          "max-compute-invocations-per-workgroup", "max-compute-workgroup-size-x",
          "max-compute-workgroup-size-y", "max-compute-workgroup-size-z",
          "max-compute-workgroups-per-dimension", "min-storage-buffer-offset-alignment",
          "min-uniform-buffer-offset-alignment")  # fmt: skip

REMEDIES = {
    "linux": "install a Vulkan driver: your GPU's own, or a software one for any machine "
    "(Debian, Ubuntu: apt-get install mesa-vulkan-drivers; Fedora: dnf install "
    "mesa-vulkan-drivers)",
    "darwin": "wgtorch needs Metal (macOS 11 or later, outside a virtual machine without a GPU)",
    "win32": "install your GPU's current driver (it brings Vulkan or DirectX 12)",
}


@dataclass(frozen=True, slots=True)
class Traits:
    """What an adapter is and can do, in the words of the rooms that ask. Sizes are in bytes."""

    name: str
    kind: str  # discrete, integrated, other, cpu
    backend: str  # Vulkan, Metal, DX12, OpenGL
    driver: str
    is_software: bool  # runs on the CPU: wants few barriers and wide registers
    int64: bool
    f64: bool
    f16: bool
    subgroups: bool
    timestamps: bool
    mappable: bool  # one buffer can be both mapped and bound
    immediate_bytes: int  # room for numbers set without a buffer; 0 = there is none
    most_buffers: int  # storage buffers a kernel may bind
    most_binding_bytes: int  # of one storage buffer, as far as a kernel can see it
    most_buffer_bytes: int
    workgroup_bytes: int  # memory shared by a workgroup
    group_size: int  # most invocations in a workgroup
    group_shape: tuple[int, int, int]  # most of them along each axis
    most_groups: int  # workgroups along one axis of a dispatch
    storage_alignment: int  # of the offset of a storage binding
    uniform_alignment: int

    @property
    def immediates(self) -> bool:
        return self.immediate_bytes > 0

    @property
    def compiles_slowly(self) -> bool:
        """SwiftShader's compiler doubles its time with every few branches in a kernel."""
        return "swiftshader" in self.name.lower()

    @property
    def summary(self) -> str:
        return f"{self.name} ({self.kind}, {self.backend})"


def traits_of(
    info: Mapping[str, Any], features: Sequence[str] | set[str], limits: Mapping[str, int]
) -> Traits:
    """Traits as an adapter promises them, or as an opened device has them."""
    name = str(info.get("device") or info.get("description") or info.get("vendor") or "unnamed")
    kind = KINDS.get(str(info.get("adapter_type")), "other")
    backend = str(info.get("backend_type", ""))
    most_buffer = limits["max-buffer-size"]
    return Traits(
        name=name,
        kind=kind,
        backend=BACKENDS.get(backend, backend),
        driver=str(info.get("description", "")),
        is_software=kind == "cpu" or SOFTWARE.search(name) is not None,
        int64="shader-int64" in features,
        f64="shader-f64" in features,
        f16="shader-f16" in features,
        subgroups="subgroup" in features,
        timestamps="timestamp-query" in features,
        mappable="mappable-primary-buffers" in features,
        immediate_bytes=limits.get("max-immediate-size", 0) if "immediates" in features else 0,
        most_buffers=limits["max-storage-buffers-per-shader-stage"],
        most_binding_bytes=min(limits["max-storage-buffer-binding-size"], most_buffer),
        most_buffer_bytes=most_buffer,
        workgroup_bytes=limits["max-compute-workgroup-storage-size"],
        group_size=limits["max-compute-invocations-per-workgroup"],
        group_shape=(
            limits["max-compute-workgroup-size-x"],
            limits["max-compute-workgroup-size-y"],
            limits["max-compute-workgroup-size-z"],
        ),
        most_groups=limits["max-compute-workgroups-per-dimension"],
        storage_alignment=limits["min-storage-buffer-offset-alignment"],
        uniform_alignment=limits["min-uniform-buffer-offset-alignment"],
    )


@dataclass(frozen=True, slots=True)
class Adapter:
    """A driver's offer, and its traits."""

    handle: wgpu.GPUAdapter
    traits: Traits

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Hardware before software, Vulkan, Metal and DX12 before OpenGL, discrete first."""
        traits = self.traits
        return traits.is_software, traits.backend == "OpenGL", RANKS.index(traits.kind)


@cache
def found() -> tuple[Adapter, ...]:
    """All adapters of this machine, best first."""
    with quiet_probing():
        handles = wgpu.gpu.enumerate_adapters_sync()
    adapters = [Adapter(h, traits_of(h.info, h.features, h.limits)) for h in handles]
    return tuple(sorted(adapters, key=lambda adapter: adapter.rank))


@cache
def chosen() -> tuple[int, str]:
    """(place in `found()` of the adapter to use, why that one). Raises where there is none."""
    return choose([adapter.traits for adapter in found()], ADAPTER)


def choose(offers: Sequence[Traits], wanted: str) -> tuple[int, str]:
    """Which of `offers` (best first) `wanted` means: an index, a kind, a backend, or part of a
    name; empty means the best. -> (its place, why)."""
    wanted = wanted.strip().lower()
    if wanted == "none":
        raise RuntimeError("WebGPU is switched off: WGTORCH_ADAPTER=none; unset it to use a GPU")
    if not offers:
        raise RuntimeError(f"no WebGPU adapter found; {remedy()}")
    if not wanted:
        if len(offers) == 1:
            return 0, "the only one found"
        rank = "hardware before software, Vulkan, Metal or DX12 before OpenGL, discrete first"
        return 0, f"the best of {len(offers)} ({rank})"
    matches, why = matcher(wanted)
    for place, traits in enumerate(offers):
        if matches(place, traits):
            return place, f"WGTORCH_ADAPTER={wanted} names its {why}"
    seen = "; ".join(f"{place}: {traits.summary}" for place, traits in enumerate(offers))
    raise RuntimeError(f"WGTORCH_ADAPTER={wanted} fits no adapter here; there are {seen}")


def matcher(wanted: str) -> tuple[Callable[[int, Traits], bool], str]:
    """(whether an adapter is meant, by what)."""
    if wanted.isdecimal():
        return lambda place, traits: place == int(wanted), "index"
    if wanted == "software":
        return lambda place, traits: traits.is_software, "kind"
    if wanted in RANKS:
        return lambda place, traits: traits.kind == wanted, "kind"
    if wanted in BACKEND_WORDS:
        return lambda place, traits: traits.backend == BACKEND_WORDS[wanted], "backend"
    return lambda place, traits: wanted in f"{traits.name} {traits.driver}".lower(), "name"


def order() -> list[Adapter]:
    """The adapters behind webgpu:0, webgpu:1, ...: the chosen one, then the rest, best first."""
    first, _ = chosen()
    adapters = list(found())
    return [adapters.pop(first), *adapters]


def available() -> bool:
    """Whether a webgpu device can be had. Never raises; a WGTORCH_ADAPTER that fits none warns."""
    try:
        return bool(order())
    except Exception as error:
        text = str(error)
        trace(1, "adapter", lambda: text)
        if ADAPTER and text.startswith("WGTORCH_ADAPTER"):
            warnings.warn(f"{text}; only the cpu is used", RuntimeWarning, stacklevel=2)
        return False


def count() -> int:
    """How many webgpu devices there are."""
    return len(order()) if available() else 0


def open_device(index: int = 0) -> tuple[wgpu.GPUDevice, Traits]:
    """(a new device of webgpu:`index`, what it can do)."""
    adapters = order()
    if not 0 <= index < len(adapters):
        raise RuntimeError(
            f"invalid device ordinal: webgpu:{index}; this machine has {len(adapters)} "
            f"({'; '.join(f'webgpu:{i} {a.traits.summary}' for i, a in enumerate(adapters))})"
        )
    adapter = adapters[index]
    features = [name for name in FEATURES if name in adapter.handle.features]
    limits = {name: adapter.handle.limits[name] for name in LIMITS}
    if "immediates" in features:
        limits["max-immediate-size"] = adapter.handle.limits["max-immediate-size"]
    try:
        with quiet_probing():
            device = adapter.handle.request_device_sync(
                label=f"wgtorch webgpu:{index}", required_features=features, required_limits=limits
            )
    except Exception as error:
        raise RuntimeError(
            f"webgpu:{index}, {adapter.traits.summary}, gives no device: {error}; "
            "update its driver, or choose another with WGTORCH_ADAPTER (see: python -m wgtorch)"
        ) from error
    trace(
        1, "adapter", lambda: f"webgpu:{index} is {adapter.traits.summary}, {', '.join(features)}"
    )
    return device, traits_of(adapter.handle.info, device.features, device.limits)


def library_version() -> str:
    """Of wgpu-native, the library below wgpu-py."""
    return ".".join(map(str, lib_version_info))


def remedy() -> str:
    """What to do on this system where no adapter is found."""
    return REMEDIES.get(sys.platform, "install a Vulkan driver for your GPU")


def is_news(record: logging.LogRecord) -> bool:
    """wgpu-native warns of mappable buffers on discrete GPUs; only transfers use them here."""
    return "MAPPABLE_PRIMARY_BUFFERS" not in record.getMessage()


logging.getLogger("wgpu").addFilter(is_news)


@contextmanager
def quiet_probing() -> Iterator[None]:
    """Drivers look for a Wayland display and complain on stderr where a headless machine names
    no folder for its socket; any absolute path keeps them quiet."""
    before = os.environ.get("XDG_RUNTIME_DIR")
    if not sys.platform.startswith("linux") or (before and os.path.isabs(before)):
        yield
        return
    os.environ["XDG_RUNTIME_DIR"] = tempfile.gettempdir()
    try:
        yield
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
