// Joins each element of a row with all before it: a thread for each row (or four), or split of it.
//
// launch: units cols span rows splits
// expects: STEP, RESTARTS (whether errors add up, so that sums are taken in groups); Base, base; S,
//          begin, fresh, step, whole

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let all = launch.units * launch.splits;
    let few = select(launch.span, few_turns(launch.span / STEP) * STEP, RESTARTS);
    let many = select(launch.span, few * few / STEP, RESTARTS);
    for (var thread = id.x; thread < all; thread += groups.x * GROUP) {
        let split = thread / launch.units;
        let unit = thread - split * launch.units;
        let row = base(unit);
        var before = begin(unit, split);
        var col = split * launch.span;
        let end = min(col + launch.span, launch.cols);
        while col < end {
            let far = min(col + many, end);
            var middle = fresh(before);
            while col < far {
                let stop = min(col + few, far);
                let here = whole(before, middle);
                var own = fresh(here);
                for (; col + 3u * STEP < stop; col += 4u * STEP) {
                    own = step(here, own, row, col);
                    own = step(here, own, row, col + STEP);
                    own = step(here, own, row, col + 2u * STEP);
                    own = step(here, own, row, col + 3u * STEP);
                }
                for (; col < stop; col += STEP) { own = step(here, own, row, col); }
                middle = whole(middle, own);
            }
            before = whole(before, middle);
        }
    }
}
