// y.clone()[:, 1].copy_(x[:, 0]): copy
struct Launch { count: u32 }
var<immediate> launch: Launch;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
fn copy_float32(input: f32) -> f32 { return input; }
fn lane(x0: f32) -> f32 {
    let v0 = copy_float32(x0);
    return v0;
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

// y.clone()[:, 1].copy_(x[:, 0]): put<load>
struct Launch { count: u32, n1: u32, n2: u32, n3: u32, n4: u32, n5: u32, n6: u32, n7: u32, n8: u32 }
var<immediate> launch: Launch;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
fn place0(i: u32) -> u32 { return launch.n1 + i / launch.n2 % launch.n3 * launch.n4; }
fn lane(x0: f32) -> f32 {
    return x0;
}
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
fn target_place(i: u32) -> u32 { return launch.n5 + i / launch.n6 % launch.n7 * launch.n8; }
fn compute(i: u32) {
    let p0 = place0(i);
    let r = lane(b0[p0]);
    let place = target_place(i);
    b1[place] = r;
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

// y.clone()[:, 1].copy_(x[:, 0]): copy
struct Launch { count: u32, n1: u32, n2: u32, n3: u32, n4: u32 }
var<immediate> launch: Launch;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
fn place0(i: u32) -> u32 { return launch.n1 + i / launch.n2 % launch.n3 * launch.n4; }
fn copy_float32(input: f32) -> f32 { return input; }
fn lane(x0: f32) -> f32 {
    let v0 = copy_float32(x0);
    return v0;
}
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
fn compute(q: u32) {
    let i = q * 4u;
    let p0 = place0(i);
    let r0 = lane(b0[p0 + 0u * launch.n4]);
    let r1 = lane(b0[p0 + 1u * launch.n4]);
    let r2 = lane(b0[p0 + 2u * launch.n4]);
    let r3 = lane(b0[p0 + 3u * launch.n4]);
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
