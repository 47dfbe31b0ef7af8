"""WGSL expressions over the shader library, run on arrays through wgpu alone.

What the library promises must hold without the rest of wgtorch, in modules compiled with the
run-time checks on and off, and on every adapter; so nothing of the backend stands between.
"""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import wgpu
from wgpu.backends.wgpu_native._ffi import ffi, lib

FEATURES = ("shader-int64", "shader-f64")
TYPES = {"float32": "f32", "int32": "i32", "uint32": "u32", "int64": "vec2<u32>"}
GROUP = 64
MOST_GROUPS = 4096

HEAD = "@group(0) @binding({n}) var<storage, {access}> {name}: array<{kind}>;"
MAIN = """
@compute @workgroup_size({group}) fn main(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
) {{
    for (var i = id.x; i < arrayLength(&result); i += groups.x * {group}u) {{
        {reads}
        result[i] = {expression};
    }}
}}
"""


@cache
def library() -> ModuleType:
    """wgtorch's reader of shaders/lib, without wgtorch around it."""
    path = Path(__file__).parents[1] / "wgtorch/backends/webgpu/library.py"
    spec = importlib.util.spec_from_file_location("shader_library", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@cache
def gpu() -> SimpleNamespace:
    """The one device of this process, and what it is."""
    os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")
    adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    features = set(FEATURES) & set(adapter.features)
    device = adapter.request_device_sync(required_features=features)
    return SimpleNamespace(device=device, features=features, summary=adapter.summary)


def module(code: str, trusted: bool):
    """A shader module; a trusted one has no run-time checks."""
    checked = gpu().device.create_shader_module(code=code)  # reports errors
    if not trusted:
        return checked
    text = code.encode()
    kept = ffi.new("char[]", text)
    source = ffi.new("WGPUShaderSourceWGSL *")
    source.chain.sType = lib.WGPUSType_ShaderSourceWGSL
    source.code.data, source.code.length = kept, len(text)
    descriptor = ffi.new("WGPUShaderModuleDescriptor *")
    descriptor.nextInChain = ffi.cast("WGPUChainedStruct *", source)
    raw = lib.wgpuDeviceCreateShaderModuleTrusted(gpu().device._internal, descriptor, 0)
    lib.wgpuShaderModuleRelease(checked._internal)
    checked._internal = raw
    return checked


def kernel_text(expression: str, kinds: list[str], result: str) -> str:
    names = "abcdef"[: len(kinds)]
    heads = [
        HEAD.format(n=n, access="read", name=f"in_{name}", kind=kind)
        for n, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
    heads.append(HEAD.format(n=len(kinds), access="read_write", name="result", kind=result))
    reads = " ".join(f"let {name} = in_{name}[i];" for name in names)
    main = MAIN.format(group=GROUP, reads=reads, expression=expression)
    return "\n".join(heads) + "\n" + library().needed(expression) + main


@cache
def pipeline(text: str, trusted: bool):
    compute = {"module": module(text, trusted), "entry_point": "main"}
    return gpu().device.create_compute_pipeline(layout="auto", compute=compute)


def run(
    expression: str,
    *arrays: np.ndarray,
    result: str = "float32",
    kinds: list[str] | None = None,
    kind: str = "",
    trusted: bool = True,
) -> np.ndarray:
    """`expression` of a, b, c ..., the elements of `arrays`, as an array of dtype `result`.

    `kinds` and `kind` override the WGSL types of the arrays and of the result.
    """
    device = gpu().device
    dtype = np.dtype(result)
    kinds = kinds or [TYPES[a.dtype.name] for a in arrays]
    text = kernel_text(expression, kinds, kind or TYPES[dtype.name])
    compiled = pipeline(text, trusted)
    usage = wgpu.BufferUsage.STORAGE
    buffers = [
        device.create_buffer_with_data(data=np.ascontiguousarray(a), usage=usage) for a in arrays
    ]
    size = arrays[0].size * dtype.itemsize
    buffers.append(device.create_buffer(size=size, usage=usage | wgpu.BufferUsage.COPY_SRC))
    entries = [{"binding": n, "resource": {"buffer": b}} for n, b in enumerate(buffers)]
    group = device.create_bind_group(layout=compiled.get_bind_group_layout(0), entries=entries)
    encoder = device.create_command_encoder()
    compute_pass = encoder.begin_compute_pass()
    compute_pass.set_pipeline(compiled)
    compute_pass.set_bind_group(0, group)
    compute_pass.dispatch_workgroups(min(MOST_GROUPS, -(-arrays[0].size // GROUP)))
    compute_pass.end()
    device.queue.submit([encoder.finish()])
    answer = np.frombuffer(device.queue.read_buffer(buffers[-1]), dtype).copy()
    for buffer in buffers:
        buffer.destroy()
    return answer.reshape(arrays[0].shape)
