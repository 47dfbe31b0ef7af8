// Folds columns into rows, LANES threads of a workgroup for each row (or four of them).
//
// launch: units cols outer span rows splits
// expects: STEP, NESTED, LANES, SIDE (rows beside each other, LANES * SIDE = GROUP), BY_ROW (whether
//          neighbouring threads have neighbouring rows); Base, base, reach; S, start, take, join,
//          finish

const GROUP = 256u;
var<workgroup> folded: array<S, GROUP>;

// Columns are counted in steps, through all of the outer axis.
fn take_at(s: S, row: Base, steps: u32, i: u32) -> S {
    if !NESTED { return take(s, row, i * STEP); }
    return take(s, reach(row, i / steps), i % steps * STEP);
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
        if unit < launch.units {
            let row = base(unit);
            var i = begin;
            for (; i + 3u * LANES < end; i += 4u * LANES) {
                s = take_at(s, row, steps, i);
                s = take_at(s, row, steps, i + LANES);
                s = take_at(s, row, steps, i + 2u * LANES);
                s = take_at(s, row, steps, i + 3u * LANES);
            }
            for (; i < end; i += LANES) { s = take_at(s, row, steps, i); }
        }
        folded[local] = s;
        for (var half = LANES / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if lane < half { folded[local] = join(folded[local], folded[local + half * next]); }
        }
        if lane == 0u && unit < launch.units { finish(unit, block.y, folded[local]); }
        workgroupBarrier();
    }
}
