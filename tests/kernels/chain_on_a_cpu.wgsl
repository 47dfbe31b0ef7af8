// (x * 2 + 1).relu() * x: mul+add+relu+mul
struct Launch { count: u32, n1: f32, n2: f32 }
var<immediate> launch: Launch;
fn relu_f32(x: f32) -> f32 {
    return select(x, 0.0, bitcast<u32>(x) - 0x80000001u < 0x7f800000u);
}
@group(0) @binding(0) var<storage, read> b0: array<vec2<u64>>;
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
@group(0) @binding(1) var<storage, read_write> b1: array<vec2<u64>>;
fn compute(q: u32) {
    let i = q * 4u;
    let q0 = b0[q];
    let q0_even = bitcast<vec2<f32>>(vec2<u32>(q0));
    let q0_odd = bitcast<vec2<f32>>(vec2<u32>(q0 >> vec2<u32>(32u)));
    let r0 = lane(q0_even.x);
    let r1 = lane(q0_odd.x);
    let r2 = lane(q0_even.y);
    let r3 = lane(q0_odd.y);
    b1[q] = vec2<u64>(bitcast<vec2<u32>>(vec2<f32>(r0, r2))) | (vec2<u64>(bitcast<vec2<u32>>(vec2<f32>(r1, r3))) << vec2<u32>(32u));
}
const PER_CALL = 1u;

// elementwise.wgsl for a CPU: a workgroup is one vector of its lanes, which no other thread has to
// wait for, and walks a stretch of its own.
//
// expects: PER_CALL, fn compute(i: u32)   and   launch.count = how many indices

const GROUP = 8u;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let calls = (launch.count + PER_CALL - 1u) / PER_CALL;
    let stretch = ((calls - 1u) / (groups.x * GROUP) + 1u) * GROUP;
    let first = group.x * stretch;
    let end = min(first + stretch, calls);
    for (var i = first + thread; i < end; i += GROUP) { compute(i); }
}
