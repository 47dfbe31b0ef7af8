"""Compiled kernels. What a kernel binds is read from its text, the only description there is."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from struct import Struct
from time import perf_counter
from typing import Any

import numpy as np
import wgpu

from wgtorch.backends.webgpu.codegen import LAUNCH
from wgtorch.backends.webgpu.faults import faults, is_loss
from wgtorch.backends.webgpu.mistakes import complaint
from wgtorch.config import trace

BINDING = re.compile(r"@group\(0\) @binding\(\d+\) var<storage, (read|read_write)>")
FIELDS = re.compile(r"^struct Launch \{ (.+) \}$", re.M)
MAIN = re.compile(r"\bfn main\([^{]*\{")
FORMAT = {"u32": "I", "i32": "i", "f32": "f", "i64": "q", "f64": "d", "": ""}  # for struct.pack
SLOT = 1024  # bytes of the ring of numbers: dispatches take so many, or several times as many
TYPES = {"read": "read-only-storage", "read_write": "storage"}


def read_once(source: str) -> str:
    """The kernel, its numbers read as `main` begins: on a CPU each use would load them again."""
    kept = "var<immediate> given: Launch; var<private> launch: Launch;"
    return MAIN.sub(r"\g<0> launch = given;", source.replace(LAUNCH, kept), count=1)


def kind_of(field: str) -> str:
    """Of a launch field `name: type`; the two words of a 64-bit number count as one."""
    name, kind = field.split(": ")
    if name.endswith("_low"):
        return name.split("_")[-2]
    return "" if name.endswith("_high") else kind


class BindLayout:
    """What a kernel binds, shared by all that bind the same; keeps the groups made so far."""

    __slots__ = ("groups", "handle", "keep", "pipeline_layout", "ring", "size")

    def __init__(self, handle, pipeline_layout, size: int, ring: int):
        self.handle, self.pipeline_layout, self.size = handle, pipeline_layout, size
        self.ring = ring  # bytes of the last binding, if that is the ring of numbers
        self.groups: dict[tuple, Any] = {}  # by blocks
        self.keep: Any = None  # native.py's prepared descriptor


class Kernel:
    """A pipeline, and how its numbers are packed."""

    __slots__ = ("checks", "format", "handle", "label", "layout", "pack")

    def __init__(self, label: str, handle: wgpu.GPUComputePipeline, layout: BindLayout, format):
        self.label, self.handle, self.layout, self.format = label, handle, layout, format
        self.pack: Callable[..., bytes] = Struct(format).pack
        self.checks = False  # whether it may report an index out of range

    def named(self, label: str) -> Kernel:
        """The same, for an op whose text happens to be another's."""
        if label == self.label:
            return self
        kernel = Kernel(label, self.handle, self.layout, self.format)
        kernel.checks = self.checks
        return kernel

    def pack_anyway(self, numbers: tuple[float, ...]) -> bytes:
        """For numbers that struct refuses: floats for an integer, floats beyond float32."""
        with np.errstate(over="ignore"):
            pairs = zip(self.format[1:], numbers, strict=True)
            fitting = [fitted(f, n) for f, n in pairs]
        return self.pack(*fitting)


def fitted(format: str, number: float) -> float:
    """A number as near as its format holds it; integers wrap."""
    if format in "fd":
        return float(np.float32(number)) if format == "f" else float(number)
    bits = 64 if format == "q" else 32
    whole = int(number) & ((1 << bits) - 1)
    return whole - (1 << bits) if format in "iq" and whole >> bits - 1 else whole


class Pipelines:
    """Kernels by source text."""

    def __init__(
        self, device: wgpu.GPUDevice, module: Callable, immediate_bytes: int, is_software: bool
    ):
        self.device, self.module, self.is_software = device, module, is_software
        self.checked = device.create_shader_module  # for shaders of users
        self.immediate_bytes = immediate_bytes  # room for numbers in a pipeline; 0 = none
        self.cache: dict[str, Kernel] = {}
        self.fail: Callable[[str], Exception] = RuntimeError
        self.layouts: list[BindLayout] = []
        self.layout = cache(self._layout)

    def get(self, source: str, name: str, trusted: bool = True) -> Kernel:
        if source not in self.cache:
            trace(4, "wgsl", lambda: f"--- {name}\n{source}")
            said, start = len(faults.reports), perf_counter()
            try:
                self.cache[source] = self._compile(source, name, trusted)
                took = 1e3 * (perf_counter() - start)
                trace(2, "pipelines", lambda: f"compiled {name} in {took:.1f} ms")
            except wgpu.GPUError as error:
                if is_loss(str(error)):
                    raise self.fail(str(error)) from None
                del faults.reports[said:]  # the compiler also logs what it raises
                raise RuntimeError(complaint(name, source, str(error))) from None
        return self.cache[source].named(name)

    def _compile(self, source: str, name: str, trusted: bool) -> Kernel:
        fields = FIELDS.search(source)
        kinds = [kind_of(field) for field in fields[1].split(", ")] if fields else []
        format = "<" + "".join(FORMAT[kind] for kind in kinds)
        access = tuple(BINDING.findall(source))
        room = 4 * len(kinds) <= self.immediate_bytes
        ring = 0 if room else -(-4 * len(kinds) // SLOT) * SLOT
        if self.is_software and trusted and kinds and "Barrier(" not in source:
            source = read_once(source)
        if ring:
            uniform = f"@group(0) @binding({len(access)}) var<uniform>"
            source = source.replace("var<immediate>", uniform)
        layout = self.layout(access, self.immediate_bytes if kinds and room else 0, ring)
        module = (self.module if trusted else self.checked)(label=name, code=source)
        handle = self.device.create_compute_pipeline(
            label=name,
            layout=layout.pipeline_layout,
            compute={"module": module, "entry_point": "main"},
        )
        return Kernel(name, handle, layout, format)

    def _layout(self, access: tuple[str, ...], immediate: int, ring: int) -> BindLayout:
        buffers: list[dict[str, Any]] = [{"type": TYPES[a]} for a in access]
        if ring:
            buffers.append({"type": "uniform", "has_dynamic_offset": True})
        stage = wgpu.ShaderStage.COMPUTE
        handle = self.device.create_bind_group_layout(
            entries=[
                {"binding": i, "visibility": stage, "buffer": buffer}
                for i, buffer in enumerate(buffers)
            ]
        )
        pipeline_layout = self.device.create_pipeline_layout(
            bind_group_layouts=[handle], **({"immediate_size": immediate} if immediate else {})
        )
        self.layouts.append(BindLayout(handle, pipeline_layout, len(buffers), ring))
        return self.layouts[-1]

    def forget(self, queue: Any, blocks: set) -> None:
        """Drops every bind group that holds one of `blocks`."""
        for layout in self.layouts:
            doomed = [key for key in layout.groups if not blocks.isdisjoint(key)]
            queue.drop_groups([layout.groups.pop(key) for key in doomed])
