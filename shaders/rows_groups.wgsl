// Does rows with LANES threads of a workgroup for each, SIDE rows beside each other.
//
// expects: LANES, SIDE, BY_ROW (whether neighbouring threads have neighbouring rows), STEP; V, own_sum,
//          own_max; Base, base; fn do_row(row: Base)

const GROUP = 256u;
var<workgroup> shared_by_row: array<V, GROUP>;
var<private> unit: u32;  // the row, or quad of rows
var<private> lane: u32;
var<private> thread: u32;

fn steps() -> u32 {
    let all = (launch.cols + STEP - 1u) / STEP * launch.outer;
    return (all - min(lane, all) + LANES - 1u) / LANES;
}
fn step_of(k: u32) -> u32 { return k * LANES + lane; }

fn all_sum(v: V) -> V {
    let next = select(1u, SIDE, BY_ROW);
    shared_by_row[thread] = own_sum(v);
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half { shared_by_row[thread] += shared_by_row[thread + half * next]; }
    }
    workgroupBarrier();
    let total = shared_by_row[thread - lane * next];
    workgroupBarrier();
    return total;
}

fn all_max(v: V) -> V {
    let next = select(1u, SIDE, BY_ROW);
    shared_by_row[thread] = own_max(v);
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            let other = shared_by_row[thread + half * next];
            shared_by_row[thread] = maximum_v(shared_by_row[thread], other);
        }
    }
    workgroupBarrier();
    let most = shared_by_row[thread - lane * next];
    workgroupBarrier();
    return most;
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    thread = local;
    lane = select(local % LANES, local / SIDE, BY_ROW);
    let side = select(local / LANES, local % SIDE, BY_ROW);
    let tiles = (launch.units + SIDE - 1u) / SIDE;
    for (var tile = block.x; tile < tiles; tile += blocks.x) {
        unit = min(tile * SIDE + side, launch.units - 1u);  // the last row may be done twice
        do_row(base(unit));
    }
}
