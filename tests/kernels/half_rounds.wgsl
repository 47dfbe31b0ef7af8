// h * 0.5 + 1: mul+add
struct Launch { count: u32, n1: f32, n2: f32 }
var<immediate> launch: Launch;
fn round_f16_f32_native(x: f32) -> f32 {
    return f16_to_f32(pack2x16float(vec2<f32>(x, 0.0)) & 0xffffu);  // unpacked, NVIDIA's never rounds
}
fn unpack2_f16_native(word: u32) -> vec2<f32> { return unpack2x16float(word); }
fn pack2_f16_native(x: vec2<f32>) -> u32 { return pack2x16float(x); }
fn f16_to_f32(bits: u32) -> f32 {
    let size = bits & 0x7fffu;
    let normal = (size << 13u) + select(0x38000000u, 0x70000000u, size >= 0x7c00u);
    // 2^-14 (1 + size / 2^10) less 2^-14
    let tiny = bitcast<u32>(bitcast<f32>((size << 13u) + 0x38800000u) - 6.1035156e-5);
    return bitcast<f32>(select(normal, tiny, size < 0x400u) | ((bits & 0x8000u) << 16u));
}
@group(0) @binding(0) var<storage, read> b0: array<vec4<u32>>;
fn mul_float16(input: f32, other: f32) -> f32 { return round_f16_f32_native(input * other); }
fn add_float16(input: f32, other: f32) -> f32 { return round_f16_f32_native(input + other); }
fn lane(x0: f32) -> f32 {
    let v0 = mul_float16(x0, launch.n1);
    let v1 = add_float16(v0, launch.n2);
    return v1;
}
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<u32>>;
fn compute(q: u32) {
    let q0 = b0[q];
    let q0_0 = unpack2_f16_native(q0.x);
    let q0_1 = unpack2_f16_native(q0.y);
    let q0_2 = unpack2_f16_native(q0.z);
    let q0_3 = unpack2_f16_native(q0.w);
    let r0 = lane(q0_0.x);
    let r1 = lane(q0_0.y);
    let r2 = lane(q0_1.x);
    let r3 = lane(q0_1.y);
    let r4 = lane(q0_2.x);
    let r5 = lane(q0_2.y);
    let r6 = lane(q0_3.x);
    let r7 = lane(q0_3.y);
    b1[q] = vec4<u32>(pack2_f16_native(vec2<f32>(r0, r1)), pack2_f16_native(vec2<f32>(r2, r3)), pack2_f16_native(vec2<f32>(r4, r5)), pack2_f16_native(vec2<f32>(r6, r7)));
}
const PER_CALL = 2u;

// Runs `compute(i)` at every index, or once for PER_CALL of them. Fusion writes `compute`, its
// loads and its stores.
//
// expects: PER_CALL, fn compute(i: u32)   and   launch.count = how many indices

const GROUP = 256u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i * PER_CALL < launch.count; i += groups.x * GROUP) { compute(i); }
}
