// Writes what was sorted, and where it was.
//
// launch: count length
// expects: old(i); input_nth(i); into(i), where the i-th goes; set_values, set_indices

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < launch.count; i += groups.x * GROUP) {
        let place = old(i);
        set_values(into(i), input_nth(place));
        let row = div_u32(place, launch.length);
        set_indices(into(i), indices_of(i32(place - row * launch.length)));
    }
}
