"""The device itself: an adapter's best features, its pool, its kernels and its queue."""

from __future__ import annotations

from collections.abc import Callable

from wgtorch.backends.webgpu import adapter, halves
from wgtorch.backends.webgpu.faults import exception
from wgtorch.backends.webgpu.packing import Dialect
from wgtorch.backends.webgpu.pipelines import Pipelines
from wgtorch.backends.webgpu.pool import SLACK, Pool
from wgtorch.backends.webgpu.queue import Queue
from wgtorch.config import PUBLIC_API


class GPU:
    def __init__(self, index: int = 0):
        self.device, self.traits = adapter.open_device(index)
        traits = self.traits
        self.dialect = Dialect(
            int64=traits.int64,
            f64=traits.f64,
            unrolls=not traits.compiles_slowly,
            halves=not traits.is_software and halves.are_native(self.device),
            by_lanes=traits.is_software,
            wide=traits.is_software and traits.int64,
        )
        self.most_buffers = self.traits.most_buffers
        self.pool = Pool(self.device, most_bytes=self.traits.most_binding_bytes - SLACK)
        eager = not self.traits.is_software
        if PUBLIC_API:
            self.queue, module = Queue(self.device, eager), self.device.create_shader_module
            immediate_bytes = 0  # wgpu-py 0.32 cannot set them: set_immediates needs a data_size
        else:
            from wgtorch.backends.webgpu.native import NativeQueue, trusted_module

            self.queue, module = NativeQueue(self.device, eager), trusted_module(self.device)
            immediate_bytes = self.traits.immediate_bytes
        self.pipelines = Pipelines(self.device, module, immediate_bytes, traits.is_software)
        self.pool.fail = self.queue.fail = self.pipelines.fail = self.fail
        self.abandoned: Callable[[], None] = lambda: None  # tells the backend that all is lost

    def fail(self, report: str) -> Exception:
        """The exception for an error that wgpu reported."""
        return exception(report, self.abandon)

    def abandon(self) -> None:
        """Nothing of this device may be named any more: wgpu would abort the process."""
        for block in self.pool.blocks.values():
            block.handle = None
        self.abandoned()
