// (x * 2 + 1).relu() * x: mul+add+relu+mul
struct Launch { count: u32, n1: f32, n2: f32 }
var<immediate> launch: Launch;
fn relu_f32(x: f32) -> f32 {
    return select(x, 0.0, bitcast<u32>(x) - 0x80000001u < 0x7f800000u);
}
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
fn mul_float32(input: f32, other: f32) -> f32 { return input * other; }
fn add_float32(input: f32, other: f32) -> f32 { return input + other; }
fn relu_float32(input: f32) -> f32 { return relu_f32(input); }
fn lane(x0: f32) -> f32 {
    let v0 = mul_float32(x0, launch.n1);
    let v1 = add_float32(v0, launch.n2);
    let v2 = relu_float32(v1);
    let v3 = mul_float32(v2, x0);
    return v3;
}
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
fn compute(q: u32) {
    let i = q * 4u;
    let q0 = b0[q];
    let r0 = lane(q0.x);
    let r1 = lane(q0.y);
    let r2 = lane(q0.z);
    let r3 = lane(q0.w);
    b1[q] = vec4<f32>(r0, r1, r2, r3);
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
