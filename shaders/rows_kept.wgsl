// Does rows with LANES threads for each, which read them once and keep them in registers.
//
// A workgroup has SIDE rows beside each other. What do_row did in loops is written out for it.
//
// expects: LANES, SIDE, GROUP (their product), STEP; V (four neighbours), own_sum, own_max;
//          Base, base; fn do_row(row: Base)

var<workgroup> shared_by_row: array<f32, GROUP>;
var<private> unit: u32;  // the row
var<private> lane: u32;
var<private> thread: u32;

fn steps() -> u32 { return (launch.cols / STEP - lane + LANES - 1u) / LANES; }
fn step_of(k: u32) -> u32 { return k * LANES + lane; }

fn all_sum(v: V) -> V {
    shared_by_row[thread] = own_sum(v).x;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half { shared_by_row[thread] += shared_by_row[thread + half]; }
    }
    workgroupBarrier();
    let total = shared_by_row[thread - lane];
    workgroupBarrier();
    return V(total);
}

fn all_max(v: V) -> V {
    shared_by_row[thread] = own_max(v).x;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            let other = shared_by_row[thread + half];
            shared_by_row[thread] = maximum_f32(shared_by_row[thread], other);
        }
    }
    workgroupBarrier();
    let most = shared_by_row[thread - lane];
    workgroupBarrier();
    return V(most);
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    thread = local;
    lane = local % LANES;
    let tiles = (launch.units + SIDE - 1u) / SIDE;
    for (var tile = block.x; tile < tiles; tile += blocks.x) {
        unit = min(tile * SIDE + local / LANES, launch.units - 1u);  // the last may be done twice
        do_row(base(unit));
    }
}
