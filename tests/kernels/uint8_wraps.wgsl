// u + 255: add
struct Launch { count: u32, n1: i32 }
var<immediate> launch: Launch;
fn wrap_u8(x: i32) -> i32 { return x & 255; }
@group(0) @binding(0) var<storage, read> b0: array<u32>;
fn add_uint8(input: i32, other: i32) -> i32 { return wrap_u8(input + other); }
fn lane(x0: i32) -> i32 {
    let v0 = add_uint8(x0, wrap_u8(launch.n1));
    return v0;
}
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
fn compute(q: u32) {
    let i = q * 4u;
    let q0 = b0[q];
    let r0 = lane(i32(((q0 >> 0u) & 255u)));
    let r1 = lane(i32(((q0 >> 8u) & 255u)));
    let r2 = lane(i32(((q0 >> 16u) & 255u)));
    let r3 = lane(i32(((q0 >> 24u) & 255u)));
    b1[q] = ((bitcast<u32>(r0) & 255u) << 0u) | ((bitcast<u32>(r1) & 255u) << 8u) | ((bitcast<u32>(r2) & 255u) << 16u) | ((bitcast<u32>(r3) & 255u) << 24u);
}

// Runs `compute(i)` at every index. Fusion writes `compute`, its loads and its stores.
//
// expects: fn compute(i: u32)   and   launch.count = how many indices

const GROUP = 256u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < launch.count; i += groups.x * GROUP) { compute(i); }
}
