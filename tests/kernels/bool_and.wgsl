// b & (x > 0): gt+bitwise_and
struct Launch { count: u32, n1: f32 }
var<immediate> launch: Launch;
fn gt_f32(x: f32, y: f32) -> bool { return lt_f32(y, x); }
fn lt_f32(x: f32, y: f32) -> bool {
    return (order_f32(x) < order_f32(y)) & !is_nan_f32(x) & !is_nan_f32(y);
}
fn order_f32(x: f32) -> i32 {
    let size = bitcast<i32>(magnitude(x));
    return select(size, -size, signbit_f32(x));
}
fn is_nan_f32(x: f32) -> bool { return magnitude(x) > 0x7f800000u; }
fn magnitude(x: f32) -> u32 { return bitcast<u32>(x) & 0x7fffffffu; }
fn signbit_f32(x: f32) -> bool { return (bitcast<u32>(x) >> 31u) != 0u; }
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<u32>;
fn gt_float32(input: f32, other: f32) -> bool { return gt_f32(input, other); }
fn bitwise_and_bool(input: i32, other: i32) -> bool { return (input & other) != 0; }
fn lane(x0: f32, x1: bool) -> bool {
    let v0 = gt_float32(x0, launch.n1);
    let v1 = bitwise_and_bool(i32(x1), i32(v0));
    return v1;
}
@group(0) @binding(2) var<storage, read_write> b2: array<u32>;
fn compute(q: u32) {
    let i = q * 4u;
    let q0 = b0[q];
    let q1 = b1[q];
    let r0 = lane(q0.x, (((q1 >> 0u) & 255u) != 0u));
    let r1 = lane(q0.y, (((q1 >> 8u) & 255u) != 0u));
    let r2 = lane(q0.z, (((q1 >> 16u) & 255u) != 0u));
    let r3 = lane(q0.w, (((q1 >> 24u) & 255u) != 0u));
    b2[q] = (select(0u, 1u, r0) << 0u) | (select(0u, 1u, r1) << 8u) | (select(0u, 1u, r2) << 16u) | (select(0u, 1u, r3) << 24u);
}
const PER_CALL = 1u;

// Runs `compute(i)` at every index, or once for PER_CALL of them. Fusion writes `compute`, its
// loads and its stores.
//
// expects: PER_CALL, fn compute(i: u32)   and   launch.count = how many indices

const GROUP = 256u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i * PER_CALL < launch.count; i += groups.x * GROUP) { compute(i); }
}
