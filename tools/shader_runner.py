"""WGSL expressions over the shader library, run on arrays through wgpu alone.

What the library promises must hold in modules compiled with the run-time checks on and off, and
on every adapter; so no fusion, no pool and no queue stand between.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import wgpu

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from wgtorch.backends.webgpu import adapter, library
from wgtorch.backends.webgpu.native import trusted_module

TYPES = {"float32": "f32", "int32": "i32", "uint32": "u32", "int64": "vec2<u32>", "float64": "f64"}
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
def gpu() -> SimpleNamespace:
    """The one device of this process: what it is, what it can do, how it makes modules."""
    device, traits = adapter.open_device()
    makers = {True: trusted_module(device), False: device.create_shader_module}
    return SimpleNamespace(device=device, traits=traits, module=makers)


def kernel_text(expression: str, kinds: list[str], result: str) -> str:
    names = "abcdef"[: len(kinds)]
    heads = [
        HEAD.format(n=n, access="read", name=f"in_{name}", kind=kind)
        for n, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
    heads.append(HEAD.format(n=len(kinds), access="read_write", name="result", kind=result))
    reads = " ".join(f"let {name} = in_{name}[i];" for name in names)
    main = MAIN.format(group=GROUP, reads=reads, expression=expression)
    return "\n".join(heads) + "\n" + library.needed(expression) + main


@cache
def pipeline(text: str, trusted: bool):
    module = gpu().module[trusted](label="shader_runner", code=text)
    compute = {"module": module, "entry_point": "main"}
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
