// Replaces what each split of a row came to by what all splits before it come to; a thread a row.
//
// launch: rows splits
// expects: A, nothing, combine; part_at, set_part

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var row = id.x; row < launch.rows; row += groups.x * GROUP) {
        var before = nothing();
        for (var split = 0u; split < launch.splits; split++) {
            let here = part_at(split * launch.rows + row);
            set_part(split * launch.rows + row, before);
            before = combine(before, here);
        }
    }
}
