// Writes the first few of each row that was sorted, and where they were.
//
// launch: count length keep
// expects: count = rows * keep; old(i); input_nth(i); into(i), where the i-th goes; set_values,
//          set_indices

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < launch.count; i += groups.x * GROUP) {
        let row = div_u32(i, launch.keep);
        let place = old(row * launch.length + i - row * launch.keep);
        set_values(into(i), input_nth(place));
        set_indices(into(i), indices_of(i32(place - row * launch.length)));
    }
}
