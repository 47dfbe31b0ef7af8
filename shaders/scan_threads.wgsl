// Joins each element of a row with all before it: a thread for each row (or four), or split of it.
//
// launch: units cols span rows splits
// expects: STEP; Base, base; S, begin, step

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let all = launch.units * launch.splits;
    for (var thread = id.x; thread < all; thread += groups.x * GROUP) {
        let split = thread / launch.units;
        let unit = thread - split * launch.units;
        let row = base(unit);
        var s = begin(unit, split);
        var col = split * launch.span;
        let end = min(col + launch.span, launch.cols);
        for (; col + 3u * STEP < end; col += 4u * STEP) {
            s = step(s, row, col);
            s = step(s, row, col + STEP);
            s = step(s, row, col + 2u * STEP);
            s = step(s, row, col + 3u * STEP);
        }
        for (; col < end; col += STEP) { s = step(s, row, col); }
    }
}
