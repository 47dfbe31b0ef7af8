// Makes the keys of a round, in the order that the rounds before left.
//
// launch: count word flip bias length
// expects: FIRST (whether there was no round before), BY_ROW (whether rows are the keys); input_nth(i);
//          old(i), set_key(i, key), set_old(i, place)

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < launch.count; i += groups.x * GROUP) {
        var place = i;
        if FIRST { set_old(i, i); } else { place = old(i); }
        var key = 0u;
        if BY_ROW { key = div_u32(place, launch.length); }
        if !BY_ROW { key = (sort_key_t(input_nth(place), launch.word) + launch.bias) ^ launch.flip; }
        set_key(i, key);
    }
}
