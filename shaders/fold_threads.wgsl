// Folds columns into rows, no thread waiting for another: one takes a row (or four), or a split of it.
//
// launch: units cols outer span rows splits
// expects: STEP, NESTED, GROUP; Base, base, reach; S, start, take, finish; MANY, take_many, which
//          takes so many steps at once

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let all = launch.units * launch.splits;
    for (var thread = id.x; thread < all; thread += groups.x * GROUP) {
        let split = thread / launch.units;
        let unit = thread - split * launch.units;
        let row = base(unit);
        var s = start();
        // A split is a part of the outer axis where there is one, else of the columns.
        let begin = split * launch.span;
        let end = begin + launch.span;
        let outers = select(1u, min(end, launch.outer), NESTED);
        let last = select(min(end, launch.cols), launch.cols, NESTED);
        for (var outer = select(0u, begin, NESTED); outer < outers; outer++) {
            let at = reach(row, outer);
            var col = select(begin, 0u, NESTED);
            for (; col + (MANY - 1u) * STEP < last; col += MANY * STEP) {
                s = take_many(s, at, col);
            }
            for (; col < last; col += STEP) { s = take(s, at, col); }
        }
        finish(unit, split, s);
    }
}
