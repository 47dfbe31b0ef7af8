// Sorts rows of at most SIZE elements, each in a workgroup, and leaves the first few of each.
//
// launch: rows length flip keep
// expects: network.wgsl, SIZE (a power of two), WIDE (whether a value has two words); input_nth(i),
//          rows x length; into(i), where the i-th of rows x keep goes; set_values, set_indices

const GROUP = 256u;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var row = block.x; row < launch.rows; row += blocks.x) {
        for (var i = local; i < SIZE; i += GROUP) {
            places[i] = i;
            keys[i] = 0xffffffffu;  // beyond the row: behind all, for the place is too
            if WIDE { lower[i] = 0xffffffffu; }
            if i < launch.length {
                let value = input_nth(row * launch.length + i);
                keys[i] = sort_key_t(value, 1u) ^ launch.flip;
                if WIDE { lower[i] = sort_key_t(value, 0u) ^ launch.flip; }
            }
        }
        put_in_order(local, SIZE);
        for (var i = local; i < launch.keep; i += GROUP) {
            let place = places[i];
            let to = into(row * launch.keep + i);
            set_values(to, input_nth(row * launch.length + place));
            set_indices(to, indices_of(i32(place)));
        }
        workgroupBarrier();
    }
}
