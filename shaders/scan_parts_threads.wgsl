// Replaces what each split of a row came to by what all splits before it come to; a thread a row.
//
// launch: rows splits
// expects: A, nothing, combine; part_at, set_part

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let few = few_turns(launch.splits);
    for (var row = id.x; row < launch.rows; row += groups.x * GROUP) {
        var before = nothing();
        var split = 0u;
        while split < launch.splits {  // errors grow with the turns of each loop alone
            let far = min(split + few * few, launch.splits);
            var middle = nothing();
            while split < far {
                let stop = min(split + few, far);
                let here = combine(before, middle);
                var own = nothing();
                for (; split < stop; split++) {
                    let part = part_at(split * launch.rows + row);
                    set_part(split * launch.rows + row, combine(here, own));
                    own = combine(own, part);
                }
                middle = combine(middle, own);
            }
            before = combine(before, middle);
        }
    }
}
