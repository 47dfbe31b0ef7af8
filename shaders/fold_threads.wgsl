// Folds columns into rows, a thread for each row (or four of them) and no thread waiting for another.
//
// launch: units cols outer span rows
// expects: STEP, NESTED, GROUP; Base, base, reach; S, start, take, finish

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    // Threads of one row share its outer axis where it has one, else its columns.
    let begin = block.y * launch.span;
    let end = begin + launch.span;
    let outers = select(1u, min(end, launch.outer), NESTED);
    let last = select(min(end, launch.cols), launch.cols, NESTED);
    for (var unit = block.x * GROUP + local; unit < launch.units; unit += blocks.x * GROUP) {
        let row = base(unit);
        var s = start();
        for (var outer = select(0u, begin, NESTED); outer < outers; outer++) {
            let at = reach(row, outer);
            var col = select(begin, 0u, NESTED);
            for (; col + 7u * STEP < last; col += 8u * STEP) {
                s = take(s, at, col);
                s = take(s, at, col + STEP);
                s = take(s, at, col + 2u * STEP);
                s = take(s, at, col + 3u * STEP);
                s = take(s, at, col + 4u * STEP);
                s = take(s, at, col + 5u * STEP);
                s = take(s, at, col + 6u * STEP);
                s = take(s, at, col + 7u * STEP);
            }
            for (; col < last; col += STEP) { s = take(s, at, col); }
        }
        finish(unit, block.y, s);
    }
}
