// i.float() * x: copy+mul
struct Launch { count: u32 }
var<immediate> launch: Launch;
@group(0) @binding(0) var<storage, read> b0: array<i64>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
fn copy_float32(input: f32) -> f32 { return input; }
fn mul_float32(input: f32, other: f32) -> f32 { return input * other; }
fn lane(x0: i64, x1: f32) -> f32 {
    let v0 = copy_float32(f32(x0));
    let v1 = mul_float32(v0, x1);
    return v1;
}
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
fn compute(q: u32) {
    let i = q * 4u;
    let q1 = b1[q];
    let r0 = lane(b0[q * 4u + 0u], q1.x);
    let r1 = lane(b0[q * 4u + 1u], q1.y);
    let r2 = lane(b0[q * 4u + 2u], q1.z);
    let r3 = lane(b0[q * 4u + 3u], q1.w);
    b2[q] = vec4<f32>(r0, r1, r2, r3);
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
