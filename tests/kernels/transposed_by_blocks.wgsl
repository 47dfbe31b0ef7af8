// wide.T + 1: add<across>
struct Launch { tiles: u32, tiles_along: u32, deep: u32, long: u32, n4: u32, n5: u32, n6: f32 }
var<immediate> launch: Launch;
const DEEP = 16u;
const LONG = 16u;
const NEAR = 8u;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
fn add_float32(input: f32, other: f32) -> f32 { return input + other; }
fn lane(x0: f32) -> f32 {
    let v0 = add_float32(x0, launch.n6);
    return v0;
}
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
fn compute(rest: u32, d: u32, l: u32) {
    let s0 = 1u;
    let t0 = launch.n4;
    let p0 = 4u * d * s0 + 4u * l * t0;
    let q0_0 = b0[((p0 + 0u * t0) / 4u)];
    let q0_1 = b0[((p0 + 1u * t0) / 4u)];
    let q0_2 = b0[((p0 + 2u * t0) / 4u)];
    let q0_3 = b0[((p0 + 3u * t0) / 4u)];
    let s1 = launch.n5;
    let t1 = 1u;
    let p1 = 4u * d * s1 + 4u * l * t1;
    let r0 = lane(q0_0.x);
    let r1 = lane(q0_1.x);
    let r2 = lane(q0_2.x);
    let r3 = lane(q0_3.x);
    let r4 = lane(q0_0.y);
    let r5 = lane(q0_1.y);
    let r6 = lane(q0_2.y);
    let r7 = lane(q0_3.y);
    let r8 = lane(q0_0.z);
    let r9 = lane(q0_1.z);
    let r10 = lane(q0_2.z);
    let r11 = lane(q0_3.z);
    let r12 = lane(q0_0.w);
    let r13 = lane(q0_1.w);
    let r14 = lane(q0_2.w);
    let r15 = lane(q0_3.w);
    b1[((p1 + 0u * s1) / 4u)] = vec4<f32>(r0, r1, r2, r3);
    b1[((p1 + 1u * s1) / 4u)] = vec4<f32>(r4, r5, r6, r7);
    b1[((p1 + 2u * s1) / 4u)] = vec4<f32>(r8, r9, r10, r11);
    b1[((p1 + 3u * s1) / 4u)] = vec4<f32>(r12, r13, r14, r15);
}

// Runs `compute(rest, d, l)` for blocks of four by four elements: `l` along the last axis of the
// result, `d` along the one that an operand has closest. Neighbouring threads have whole sectors of
// memory both ways.
//
// launch: tiles tiles_along deep long
// expects: DEEP, LONG (threads of a group along d and l, DEEP * LONG = GROUP), NEAR (along d, of
//          those beside each other); fn compute(rest: u32, d: u32, l: u32)

const GROUP = 256u;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let side = local % NEAR + local / (NEAR * LONG) * NEAR;
    let along = local / NEAR % LONG;
    let tiles_deep = (launch.deep + DEEP - 1u) / DEEP;
    for (var tile = group.x; tile < launch.tiles; tile += groups.x) {
        let row = tile / launch.tiles_along;
        let l = tile % launch.tiles_along * LONG + along;
        let d = row % tiles_deep * DEEP + side;
        if d < launch.deep && l < launch.long { compute(row / tiles_deep, d, l); }
    }
}
