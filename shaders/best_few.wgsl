// Keeps the first few, in order, of what each thread sees of a row; equals in the order they came.
//
// launch: rows length lanes first step flip whole
// expects: KEEP (how many), WIDE (whether a value has two words); found_at(row, i); leave(row, lane, n,
//          found); lane l sees i = l * first, then every `step`-th up to its last; rows of `whole`

const GROUP = 64u;
struct Found { key: u32, low: u32, place: u32 }

fn is_before(a: Found, b: Found) -> bool {
    if WIDE {
        if a.key == b.key && a.low != b.low { return a.low < b.low; }
    }
    return a.key < b.key || (a.key == b.key && a.place < b.place);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var thread = id.x; thread < launch.rows * launch.lanes; thread += groups.x * GROUP) {
        let row = thread / launch.lanes;
        let lane = thread - row * launch.lanes;
        var best: array<Found, KEEP>;
        var worst = Found(0xffffffffu, 0xffffffffu, 0xffffffffu);  // behind all
        for (var n = 0u; n < KEEP; n++) { best[n] = worst; }
        let begin = lane * launch.first;
        let end = select(launch.length, min(begin + launch.first, launch.length), launch.step == 1u);
        for (var i = begin; i < end; i += launch.step) {
            let here = found_at(row, i);
            if is_before(here, worst) {
                var at = KEEP - 1u;
                while at > 0u {
                    if !is_before(here, best[at - 1u]) { break; }
                    best[at] = best[at - 1u];
                    at--;
                }
                best[at] = here;
                worst = best[KEEP - 1u];
            }
        }
        for (var n = 0u; n < KEEP; n++) { leave(row, lane, n, best[n]); }
    }
}
