// Folds columns into rows, no thread waiting for another: one takes a row (or four), or a split of it.
//
// launch: units cols outer span rows splits
// expects: STEP, NESTED, GROUP; Base, base, reach; S, start, take, join, finish; MANY, take_many,
//          which takes so many steps at once
//
// Steps join in groups, and those in groups of groups: sums of many equal numbers stay exact.

fn take_all(at: Base, begin: u32, last: u32) -> S {
    const TURN = MANY * STEP;
    let most = turns(last / TURN - begin / TURN) * TURN;
    var s = start();
    var col = begin;
    while col + (TURN - STEP) < last {
        let stop = min(col + most, last);
        var t = start();
        for (; col + (TURN - STEP) < stop; col += TURN) { t = join(t, take_many(at, col)); }
        s = join(s, t);
    }
    for (; col < last; col += STEP) { s = join(s, take(at, col)); }
    return s;
}

// A split is a part of the outer axis where there is one, else of the columns.
fn take_split(row: Base, begin: u32, end: u32) -> S {
    if !NESTED { return take_all(reach(row, 0u), begin, min(end, launch.cols)); }
    let outers = min(end, launch.outer);
    let most = turns(outers - min(begin, outers));
    var s = start();
    for (var outer = begin; outer < outers;) {
        let stop = min(outer + most, outers);
        var t = start();
        for (; outer < stop; outer++) {
            t = join(t, take_all(reach(row, outer), 0u, launch.cols));
        }
        s = join(s, t);
    }
    return s;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let all = launch.units * launch.splits;
    for (var thread = id.x; thread < all; thread += groups.x * GROUP) {
        let split = thread / launch.units;
        let unit = thread - split * launch.units;
        let begin = split * launch.span;
        finish(unit, split, take_split(base(unit), begin, begin + launch.span));
    }
}
