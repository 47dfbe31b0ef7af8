// x * 2 - 1: mul+sub
struct Launch { count: u32, n1: f32, n2: f32 }
var<immediate> launch: Launch;
fn neg_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); }
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
fn mul_float32(input: f32, other: f32) -> f32 { return input * other; }
fn sub_float32(input: f32, other: f32) -> f32 { return input + neg_f32(other); }
fn lane(x0: f32) -> f32 {
    let v0 = mul_float32(x0, launch.n1);
    let v1 = sub_float32(v0, launch.n2);
    return v1;
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
