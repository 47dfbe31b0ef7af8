"""Halves are float16 numbers; an adapter's own packing of them is used where it proves exact.

WGSL leaves the rounding of `pack2x16float` to the adapter, and whether subnormals survive. Where it
rounds to nearest even and keeps them, one instruction takes the place of a dozen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import wgpu

from wgtorch.dtype import DType

TRIAL = """
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= arrayLength(&given) { return; }
    let x = bitcast<f32>(given[id.x]);
    found[2u * id.x] = pack2x16float(vec2<f32>(x, -x));
    found[2u * id.x + 1u] = bitcast<u32>(unpack2x16float(given[id.x] & 0xffffu).x);
}
"""


def narrowed(value: float, half: DType) -> float:
    """The number that a dtype of halves, bfloat16 too, holds for this one."""
    with np.errstate(over="ignore"):
        return float(np.float32(value).astype(half.np))


def are_native(device: wgpu.GPUDevice) -> bool:
    """Whether what is hard to round comes out right."""
    try:
        return right(hard(), tried(device, hard()))
    except wgpu.GPUError:
        return False


def hard() -> np.ndarray:
    """Bits of floats between two halves, of those beside them, and of what is no common number.
    Their lower 16 bits are halves of all kinds too."""
    steps = np.unique(np.geomspace(1, 0x7BFF, 60).astype(np.uint16))
    halves = np.unique(np.concatenate([steps, steps + 1, [0, 0x3FF, 0x400, 0x7BFF]]))
    below = halves.astype(np.uint16).view(np.float16).astype(np.float64)
    above = (halves + 1).astype(np.uint16).view(np.float16).astype(np.float64)
    above[~np.isfinite(above)] = 65536
    middles = ((below + above) / 2).astype(np.float32)
    near = [np.nextafter(middles, np.float32(side)) for side in (-np.inf, np.inf)]
    numbers = np.concatenate([below.astype(np.float32), middles, *near]).view(np.uint32)
    special = np.uint32([1, 0x7FFFFF, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x80000000])
    every = np.arange(0, 1 << 16, 37, np.uint32)
    return np.concatenate([numbers, special, every | 0x3F800000])


def tried(device: wgpu.GPUDevice, bits: np.ndarray) -> np.ndarray:
    """(packed with its negative, unpacked) of each."""
    usage = wgpu.BufferUsage
    given = device.create_buffer_with_data(data=bits, usage=usage.STORAGE)
    found = device.create_buffer(size=2 * bits.nbytes, usage=usage.STORAGE | usage.COPY_SRC)
    module = device.create_shader_module(code=TRIAL)
    compute: Any = {"module": module, "entry_point": "main"}
    pipeline = device.create_compute_pipeline(layout="auto", compute=compute)
    entries = [{"binding": n, "resource": {"buffer": b}} for n, b in enumerate((given, found))]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = device.create_command_encoder()
    run = encoder.begin_compute_pass()
    run.set_pipeline(pipeline)
    run.set_bind_group(0, group)
    run.dispatch_workgroups(-(-len(bits) // 64))
    run.end()
    device.queue.submit([encoder.finish()])
    return np.frombuffer(device.queue.read_buffer(found), np.uint32).reshape(-1, 2)


def right(bits: np.ndarray, found: np.ndarray) -> bool:
    x = bits.view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        want = np.stack([x, -x], 1).astype(np.float16)
    packed = np.ascontiguousarray(found[:, 0]).view(np.float16).reshape(-1, 2)
    unpacked = np.ascontiguousarray(found[:, 1]).view(np.float32)
    halves = (bits & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)
    return same(packed, want) and same(unpacked, halves)


def same(found: np.ndarray, want: np.ndarray) -> bool:
    """To the bit, but for what a NaN carries."""
    kind = f"u{want.itemsize}"
    equal = found.view(kind) == want.view(kind)
    return bool(np.all(equal | (np.isnan(found) & np.isnan(want))))
