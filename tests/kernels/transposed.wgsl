// x.T + y.T: add
struct Launch { count: u32, n1: u32, n2: u32, n3: u32, n4: u32, n5: u32, n6: u32, n7: u32 }
var<immediate> launch: Launch;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
fn place0(i: u32) -> u32 { return launch.n1 + i / launch.n2 % launch.n3 * launch.n4 + i / launch.n5 % launch.n6 * launch.n7; }
@group(0) @binding(1) var<storage, read> b1: array<f32>;
fn add_float32(input: f32, other: f32) -> f32 { return input + other; }
fn lane(x0: f32, x1: f32) -> f32 {
    let v0 = add_float32(x0, x1);
    return v0;
}
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
fn compute(q: u32) {
    let i = q * 4u;
    let p0 = place0(i);
    let p1 = place0(i);
    let r0 = lane(b0[p0 + 0u * launch.n7], b1[p1 + 0u * launch.n7]);
    let r1 = lane(b0[p0 + 1u * launch.n7], b1[p1 + 1u * launch.n7]);
    let r2 = lane(b0[p0 + 2u * launch.n7], b1[p1 + 2u * launch.n7]);
    let r3 = lane(b0[p0 + 3u * launch.n7], b1[p1 + 3u * launch.n7]);
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
