"""A backend that prints: all of the WebGPU backend but the GPU, whose kernels it keeps as text.

Importing this registers the device type "press"; "press:0" speaks as the strongest adapters do,
"press:1" as the weakest (no int64, no f64), "press:2" as software (barriers are dear). Nothing is
computed: what is read back is all zero.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from wgtorch.backend import register
from wgtorch.backends.webgpu.adapter import Traits
from wgtorch.backends.webgpu.backend import WebGPU
from wgtorch.backends.webgpu.packing import Dialect
from wgtorch.backends.webgpu.pipelines import FIELDS, FORMAT, Kernel, kind_of
from wgtorch.backends.webgpu.pool import Pool
from wgtorch.device import Device

STRONG, WEAK, SOFTWARE = range(3)
GIB = 1 << 30


def traits(index: int) -> Traits:
    """Of no adapter there is: what matters to texts differs, the rest is ample."""
    weak = index == WEAK
    return Traits(
        name=("strong", "weak", "software")[index],
        kind="cpu" if index == SOFTWARE else "discrete",
        backend="Vulkan",
        driver="none",
        is_software=index == SOFTWARE,
        int64=not weak,
        f64=not weak,
        f16=not weak,
        subgroups=not weak,
        timestamps=False,
        mappable=True,
        immediate_bytes=0 if weak else 128,
        most_buffers=10 if weak else 32,
        most_binding_bytes=GIB,
        most_buffer_bytes=GIB,
        workgroup_bytes=16384 if weak else 32768,
        group_size=256 if weak else 1024,
        group_shape=(256, 256, 64) if weak else (1024, 1024, 64),
        most_groups=65535,
        storage_alignment=256 if weak else 16,
        uniform_alignment=256,
    )


class Queue:
    """Forgets what is dispatched."""

    first = batch = 64

    def __init__(self) -> None:
        self.departures: list = []
        self.put_off: list = []
        self.patience = 0

    def nothing(self, *_: Any) -> None:
        pass

    dispatch = copy = clear = write = flush = wait = drop_groups = depart = ride = nothing


class Pipelines:
    """Keeps the texts that it should compile, in the order of their first use."""

    def __init__(self) -> None:
        self.kernels: dict[str, Kernel] = {}

    def get(self, source: str, name: str, trusted: bool = True) -> Kernel:
        if source not in self.kernels:
            fields = FIELDS.search(source)
            kinds = [kind_of(field) for field in fields[1].split(", ")] if fields else []
            format = "<" + "".join(FORMAT[kind] for kind in kinds)
            self.kernels[source] = Kernel(name, None, None, format)  # type: ignore[arg-type]
        return self.kernels[source]

    def forget(self, queue: Any, blocks: set) -> None:
        pass


class Press(WebGPU):
    def __init__(self, device: Device):
        device_ = SimpleNamespace(create_buffer=lambda size, usage: object(), features=())
        found = traits(device.index)
        gpu = SimpleNamespace(
            device=device_,
            traits=found,
            dialect=Dialect(
                int64=found.int64,
                f64=found.f64,
                halves=device.index == STRONG,
                wide=found.is_software,
                by_lanes=found.is_software,
            ),
            most_buffers=found.most_buffers,
            pool=Pool(device_),
            queue=Queue(),
            pipelines=Pipelines(),
            fail=RuntimeError,
        )
        super().__init__(device, gpu)  # type: ignore[arg-type]

    def download(self, view):
        value = view.storage.value
        self.fill(value)
        return np.zeros(view.layout.shape, value.dtype.np)

    def send(self, value, to):
        self.fill(value)
        return to.upload(np.zeros(value.numel, value.dtype.np), value.dtype)

    def synchronize(self):
        pass


register("press", Press)


def texts(index: int = STRONG) -> dict[str, str]:
    """The kernels printed so far: text -> name."""
    press = Device("press", index).backend
    return {source: kernel.label for source, kernel in press.gpu.pipelines.kernels.items()}


def forget(index: int = STRONG) -> None:
    """Starts again with an empty list."""
    Device("press", index).backend = None
