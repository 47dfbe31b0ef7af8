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
