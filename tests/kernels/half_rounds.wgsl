// h * 0.5 + 1: mul+add
struct Launch { count: u32, n1: f32, n2: f32 }
var<immediate> launch: Launch;
fn round_f16_f32(x: f32) -> f32 {
    let size = magnitude(x);
    let rounded = (size + 0xfffu + ((size >> 13u) & 1u)) & 0xffffe000u;
    let bounded = select(rounded, 0x7f800000u, rounded >= 0x47800000u);
    let steps = round(bitcast<f32>(min(size, 0x38800000u)) * 16777216.0);  // of 2^-24
    let tiny = bitcast<u32>(steps * 5.9604645e-8);
    let result = copysign_f32(bitcast<f32>(select(bounded, tiny, size < 0x38800000u)), x);
    return select(result, x, size > 0x7f800000u);
}
fn unpack_f16(word: u32, k: u32) -> f32 { return f16_to_f32((word >> (16u * k)) & 0xffffu); }
fn pack2_f16(x: vec2<f32>) -> u32 { return f32_to_f16(x.x) | (f32_to_f16(x.y) << 16u); }
fn magnitude(x: f32) -> u32 { return bitcast<u32>(x) & 0x7fffffffu; }
fn copysign_f32(x: f32, y: f32) -> f32 {
    return bitcast<f32>(magnitude(x) | (bitcast<u32>(y) & 0x80000000u));
}
fn f16_to_f32(bits: u32) -> f32 {
    let size = bits & 0x7fffu;
    let normal = (size << 13u) + select(0x38000000u, 0x70000000u, size >= 0x7c00u);
    let tiny = bitcast<u32>(f32(size) * 5.9604645e-8);  // 2^-24
    return bitcast<f32>(select(normal, tiny, size < 0x400u) | ((bits & 0x8000u) << 16u));
}
fn f32_to_f16(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let size = bits & 0x7fffffffu;
    let rounded = size + 0xfffu + ((size >> 13u) & 1u);
    let normal = min((rounded - 0x38000000u) >> 13u, 0x7c00u);
    let tiny = u32(round(bitcast<f32>(min(size, 0x38800000u)) * 16777216.0));
    let number = select(normal, tiny, size < 0x38800000u);
    return select(number, 0x7e00u, size > 0x7f800000u) | ((bits >> 16u) & 0x8000u);
}
@group(0) @binding(0) var<storage, read> b0: array<vec2<u32>>;
fn mul_float16(input: f32, other: f32) -> f32 { return round_f16_f32(input * other); }
fn add_float16(input: f32, other: f32) -> f32 { return round_f16_f32(input + other); }
fn lane(x0: f32) -> f32 {
    let v0 = mul_float16(x0, launch.n1);
    let v1 = add_float16(v0, launch.n2);
    return v1;
}
@group(0) @binding(1) var<storage, read_write> b1: array<vec2<u32>>;
fn compute(q: u32) {
    let i = q * 4u;
    let q0 = b0[q];
    let r0 = lane(unpack_f16((q0.x & 65535u), 0u));
    let r1 = lane(unpack_f16((q0.x >> 16u), 0u));
    let r2 = lane(unpack_f16((q0.y & 65535u), 0u));
    let r3 = lane(unpack_f16((q0.y >> 16u), 0u));
    b1[q] = vec2<u32>(pack2_f16(vec2<f32>(r0, r1)), pack2_f16(vec2<f32>(r2, r3)));
}

// Runs `compute(i)` at every index. Fusion writes `compute`, its loads and its stores.
//
// expects: fn compute(i: u32)   and   launch.count = how many indices

const GROUP = 256u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < launch.count; i += groups.x * GROUP) { compute(i); }
}
