"""Elements that share a word, random numbers and atomic updates of shaders/lib, to the bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import wgpu

from tools.shader_runner import gpu, run
from wgtorch import philox
from wgtorch.backends.webgpu import halves, library

pytestmark = pytest.mark.usefixtures("webgpu")

SEED, OFFSET = 0x123456789ABCDEF0, (1 << 32) - 100  # the counter carries into its second word
DRAW = (f"vec2<u32>({SEED & 0xFFFFFFFF}u, {SEED >> 32}u), "
        f"vec2<u32>({OFFSET & 0xFFFFFFFF}u, {OFFSET >> 32}u)")  # fmt: skip


def floats_around_halves() -> np.ndarray:
    """Every float16, its neighbours among the floats, the middles between two, and others."""
    halves = np.arange(65536, dtype=np.uint32).astype(np.uint16).view(np.float16)
    exact = np.unique(halves[np.isfinite(halves)].astype(np.float32))
    middles = ((exact[:-1].astype(np.float64) + exact[1:]) / 2).astype(np.float32)
    bits = np.random.default_rng(6).integers(0, 2**32, 20000, np.uint64).astype(np.uint32)
    edges = [65519.996, 65520, 65536, 2.9802322e-08, 2.9802326e-08, -0.0, np.nan, np.inf, -np.inf]
    near = [np.nextafter(middles, np.float32(side)) for side in (-np.inf, np.inf)]
    parts = [exact, middles, *near, bits.view(np.float32), np.array(edges, np.float32)]
    return np.concatenate(parts)


def same(got: np.ndarray, want: np.ndarray) -> bool:
    """Equal to the bit, but for NaNs' payloads."""
    unsigned = f"u{want.dtype.itemsize}"
    equal = got.view(unsigned) == want.view(unsigned)
    return bool(np.all(equal | (np.isnan(got) & np.isnan(want))))


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_half_types_round_to_nearest_even(name: str):
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[name]
    x = floats_around_halves()
    with np.errstate(over="ignore", invalid="ignore"):
        want = x.astype(kind)
    words = run(f"pack2_{name}(vec2<f32>(a, a))", x, result="uint32")
    assert np.array_equal(words >> 16, words & 0xFFFF)
    assert same((words & 0xFFFF).astype(np.uint16).view(kind), want)
    assert same(run(f"round_{name}_f32(a)", x), want.astype(np.float32))


def test_packing_by_the_adapter_is_used_only_where_it_is_exact():
    """A few hundred hard numbers tell what all halves and what lies between them would."""
    x = floats_around_halves()
    with np.errstate(over="ignore", invalid="ignore"):
        want = x.astype(np.float16)
    bits = np.arange(65536, dtype=np.uint32)
    words = run("pack2_f16_native(vec2<f32>(a, a))", x, result="uint32")
    exact = same((words >> 16).astype(np.uint16).view(np.float16), want)
    exact &= same(run("round_f16_f32_native(a)", x), want.astype(np.float32))
    every = bits.astype(np.uint16).view(np.float16).astype(np.float32)
    exact &= same(run("unpack_f16_native(a, 1u)", bits << 16), every)
    exact &= same(run("unpack2_f16_native(a).x", bits), every)
    assert halves.are_native(gpu().device) == exact


def test_rounded_numbers_are_cut():
    x = np.arange(0, 0x7F80, 7, np.uint32).astype(np.uint16).view(ml_dtypes.bfloat16)
    words = run("cut2_bf16(vec2<f32>(a, a))", x.astype(np.float32), result="uint32")
    assert np.array_equal(words >> 16, words & 0xFFFF)
    assert same((words & 0xFFFF).astype(np.uint16).view(ml_dtypes.bfloat16), x)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_every_half_is_read_exactly(name: str):
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[name]
    bits = np.arange(65536, dtype=np.uint32)
    want = bits.astype(np.uint16).view(kind).astype(np.float32)
    if name == "bf16":
        want = (bits << 16).view(np.float32)
    assert same(run(f"unpack_{name}(a, 0u)", bits), want)
    assert same(run(f"unpack_{name}(a, 1u)", bits << 16), want)
    assert same(run(f"unpack2_{name}(a).y", bits << 16 | 1), want)


def test_bytes_and_shorts():
    words = np.random.default_rng(7).integers(0, 2**32, 1000, np.uint64).astype(np.uint32)
    for k in range(4):
        for name, kind in {"u8": np.uint8, "i8": np.int8}.items():
            want = words.view(kind).reshape(-1, 4)[:, k]
            for call in (f"unpack_{name}(a, {k}u)", f"unpack4_{name}(a)[{k}]"):
                assert np.array_equal(run(call, words, result="int32"), want), call
        truth = run(f"u32(unpack4_bool(a)[{k}])", words & 0x01000001, result="uint32")
        assert np.array_equal(truth, (words & 0x01000001).view(np.uint8).reshape(-1, 4)[:, k])
    for k in range(2):
        got = run(f"unpack_i16(a, {k}u)", words, result="int32")
        assert np.array_equal(got, words.view(np.int16).reshape(-1, 2)[:, k])
    for call in ("pack4_u8(unpack4_u8(a))", "pack4_u8(unpack4_i8(a))", "pack2_i16(unpack2_i16(a))"):
        assert np.array_equal(run(call, words, result="uint32"), words), call


def test_philox_gives_the_published_words():
    """The known answers that come with the paper's Random123 library."""
    known = {
        ((0, 0, 0, 0), (0, 0)): "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2): "408f276d 41c83b0e a20bc7c6 6d5451fd",
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)):
            "d16cfe09 94fdcceb 5001e420 24126ea1",
    }  # fmt: skip
    for (counter, key), words in known.items():
        want = [int(word, 16) for word in words.split()]
        lanes = tuple(np.array([c], np.uint64) for c in counter)
        assert [int(lane[0]) for lane in philox.philox(lanes, key)] == want
        said = ", ".join(f"{c}u" for c in counter)
        call = f"philox(vec4<u32>({said}), vec2<u32>({key[0]}u, {key[1]}u))[a]"
        lane = np.arange(4, dtype=np.uint32)
        assert run(call, lane, result="uint32").tolist() == want


def test_both_devices_draw_the_same_words():
    words = philox.words(SEED, OFFSET, 4001)
    i = np.arange(4001, dtype=np.uint32)
    assert np.array_equal(run(f"random_word({DRAW}, a)", i, result="uint32"), words)
    assert np.array_equal(philox.words(SEED, OFFSET + 25, 100), words[100:200])
    assert len(set(philox.words(SEED + 1, OFFSET, 4001)) & set(words)) <= 1


def test_both_devices_draw_the_same_numbers():
    words = philox.words(SEED, OFFSET, 100_000)
    i = np.arange(100_000, dtype=np.uint32)
    uniform = philox.uniform(SEED, OFFSET, 100_000)
    assert np.array_equal(run("uniform_f32(a)", words), uniform)
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.005
    below = philox.below(SEED, OFFSET, 100_000, 10)
    assert np.array_equal(run("below(a, 10u)", words, result="uint32"), below)
    assert np.all(np.abs(np.bincount(below) - 10_000) < 500)
    normal = philox.normal(SEED, OFFSET, 100_000)
    got = run(f"normal4(random_block({DRAW}, a / 4u))[a % 4u]", i)
    assert np.max(np.abs(got - normal) / np.maximum(np.abs(normal), 1e-6)) < 1e-6
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.01
    rate = philox.exponential(SEED, OFFSET, 100_000)
    assert np.allclose(run("exponential_f32(a)", words), rate, rtol=1e-6, atol=0)
    assert abs(rate.mean() - 1) < 0.02


ATOMIC = """
@group(0) @binding(0) var<storage, read_write> cells: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let i = id.x;
    {call};
}}
"""


def updated(call: str, cells: np.ndarray, threads: int = 1024) -> np.ndarray:
    """`cells` after every thread i made the call."""
    device = gpu().device
    text = library.needed(call) + ATOMIC.format(call=call)
    compute = {"module": gpu().module[True](label="cells", code=text), "entry_point": "main"}
    pipeline = device.create_compute_pipeline(layout="auto", compute=compute)
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    buffer = device.create_buffer_with_data(data=cells, usage=usage)
    entries = [{"binding": 0, "resource": {"buffer": buffer}}]
    layout = pipeline.get_bind_group_layout(0)
    encoder = device.create_command_encoder()
    compute_pass = encoder.begin_compute_pass()
    compute_pass.set_pipeline(pipeline)
    compute_pass.set_bind_group(0, device.create_bind_group(layout=layout, entries=entries))
    compute_pass.dispatch_workgroups(threads // 64)
    compute_pass.end()
    device.queue.submit([encoder.finish()])
    return np.frombuffer(device.queue.read_buffer(buffer), cells.dtype)


def test_threads_share_cells():
    ones, i = np.ones(4, np.float32), np.arange(1024)
    assert updated("cells_add_f32(i % 4u, 0.5)", ones).tolist() == [129.0] * 4
    assert updated("cells_mul_f32(i % 512u, 2.0)", np.ones(512, "f4")).tolist() == [4.0] * 512
    assert updated("cells_max_f32(i % 4u, f32(i))", ones).tolist() == [1020, 1021, 1022, 1023]
    assert updated("cells_min_f32(i % 4u, -f32(i))", ones).tolist() == [-1020, -1021, -1022, -1023]
    unknown = updated("cells_max_f32(i % 2u, f32(i))", np.array([np.nan, -np.inf], np.float32))
    assert np.isnan(unknown[0]) and unknown[1] == 1023
    low = updated("cells_add_i32(i % 4u, -1)", np.zeros(4, np.int32))
    assert low.tolist() == [-256] * 4
    big = np.array([2**32 - 10, -(2**40)], np.int64)
    added = updated("cells_add_i64e(i % 2u, i64_from_i32(i32(i) - 3))", big)
    assert added.tolist() == [n + int((i[place::2] - 3).sum()) for place, n in enumerate(big)]
    octets = updated("cells_set_u8(i, i * 3u)", np.full(1024, 0xAA, np.uint8))
    assert np.array_equal(octets, (i * 3).astype(np.uint8))
    shorts = updated("cells_set_u16(i, i * 77u)", np.zeros(1024, np.uint16))
    assert np.array_equal(shorts, (i * 77).astype(np.uint16))
