// Folds columns into rows, LANES threads of a workgroup for each row (or four of them).
//
// launch: units cols outer span rows splits
// expects: STEP, NESTED, LANES, SIDE (rows beside each other, LANES * SIDE = GROUP), BY_ROW (whether
//          neighbouring threads have neighbouring rows); Base, base, reach; S, start, take, join,
//          finish

const GROUP = 256u;
var<workgroup> folded: array<S, GROUP>;

// Columns are counted in steps, through all of the outer axis.
fn take_at(row: Base, steps: u32, i: u32) -> S {
    if !NESTED { return take(row, i * STEP); }
    return take(reach(row, i / steps), i % steps * STEP);
}

// Steps join in groups, and those in groups of groups: sums of many equal numbers stay exact.
fn take_all(row: Base, steps: u32, begin: u32, end: u32) -> S {
    const TURN = 4u * LANES;
    let most = turns((end - min(begin, end)) / TURN) * TURN;
    var s = start();
    var i = begin;
    while i + 3u * LANES < end {
        let stop = min(i + most, end);
        var t = start();
        for (; i + 3u * LANES < stop; i += TURN) {
            let low = join(take_at(row, steps, i), take_at(row, steps, i + LANES));
            let high = join(
                take_at(row, steps, i + 2u * LANES), take_at(row, steps, i + 3u * LANES)
            );
            t = join(t, join(low, high));
        }
        s = join(s, t);
    }
    for (; i < end; i += LANES) { s = join(s, take_at(row, steps, i)); }
    return s;
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let lane = select(local % LANES, local / SIDE, BY_ROW);
    let side = select(local / LANES, local % SIDE, BY_ROW);
    let next = select(1u, SIDE, BY_ROW);
    let steps = (launch.cols + STEP - 1u) / STEP;
    let begin = block.y * launch.span + lane;
    let end = min(block.y * launch.span + launch.span, steps * launch.outer);
    let tiles = (launch.units + SIDE - 1u) / SIDE;
    for (var tile = block.x; tile < tiles; tile += blocks.x) {
        let unit = tile * SIDE + side;
        var s = start();
        if unit < launch.units { s = take_all(base(unit), steps, begin, end); }
        folded[local] = s;
        for (var half = LANES / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if lane < half { folded[local] = join(folded[local], folded[local + half * next]); }
        }
        if lane == 0u && unit < launch.units { finish(unit, block.y, folded[local]); }
        workgroupBarrier();
    }
}
