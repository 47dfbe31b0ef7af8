// u + 255: add
struct Launch { count: u32, n1: i32 }
var<immediate> launch: Launch;
fn wrap_u8(x: i32) -> i32 { return x & 255; }
@group(0) @binding(0) var<storage, read> b0: array<vec4<u32>>;
fn add_uint8(input: i32, other: i32) -> i32 { return wrap_u8(input + other); }
fn lane(x0: i32) -> i32 {
    let v0 = add_uint8(x0, wrap_u8(launch.n1));
    return v0;
}
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<u32>>;
fn compute(q: u32) {
    let q0 = b0[q];
    let r0 = lane(i32(((q0.x >> 0u) & 255u)));
    let r1 = lane(i32(((q0.x >> 8u) & 255u)));
    let r2 = lane(i32(((q0.x >> 16u) & 255u)));
    let r3 = lane(i32(((q0.x >> 24u) & 255u)));
    let r4 = lane(i32(((q0.y >> 0u) & 255u)));
    let r5 = lane(i32(((q0.y >> 8u) & 255u)));
    let r6 = lane(i32(((q0.y >> 16u) & 255u)));
    let r7 = lane(i32(((q0.y >> 24u) & 255u)));
    let r8 = lane(i32(((q0.z >> 0u) & 255u)));
    let r9 = lane(i32(((q0.z >> 8u) & 255u)));
    let r10 = lane(i32(((q0.z >> 16u) & 255u)));
    let r11 = lane(i32(((q0.z >> 24u) & 255u)));
    let r12 = lane(i32(((q0.w >> 0u) & 255u)));
    let r13 = lane(i32(((q0.w >> 8u) & 255u)));
    let r14 = lane(i32(((q0.w >> 16u) & 255u)));
    let r15 = lane(i32(((q0.w >> 24u) & 255u)));
    b1[q] = vec4<u32>(((bitcast<u32>(r0) & 255u) << 0u) | ((bitcast<u32>(r1) & 255u) << 8u) | ((bitcast<u32>(r2) & 255u) << 16u) | ((bitcast<u32>(r3) & 255u) << 24u), ((bitcast<u32>(r4) & 255u) << 0u) | ((bitcast<u32>(r5) & 255u) << 8u) | ((bitcast<u32>(r6) & 255u) << 16u) | ((bitcast<u32>(r7) & 255u) << 24u), ((bitcast<u32>(r8) & 255u) << 0u) | ((bitcast<u32>(r9) & 255u) << 8u) | ((bitcast<u32>(r10) & 255u) << 16u) | ((bitcast<u32>(r11) & 255u) << 24u), ((bitcast<u32>(r12) & 255u) << 0u) | ((bitcast<u32>(r13) & 255u) << 8u) | ((bitcast<u32>(r14) & 255u) << 16u) | ((bitcast<u32>(r15) & 255u) << 24u));
}
const PER_CALL = 4u;

// Runs `compute(i)` at every index, or once for PER_CALL of them. Fusion writes `compute`, its
// loads and its stores.
//
// expects: PER_CALL, fn compute(i: u32)   and   launch.count = how many indices

const GROUP = 256u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i * PER_CALL < launch.count; i += groups.x * GROUP) { compute(i); }
}
