// Sorts rows, each in a workgroup, by four bits after another, and leaves the first few of each.
//
// launch: rows length flip keep
// expects: ranking.wgsl, length at most 256 * ITEMS; WIDE (whether a value has two words);
//          input_nth(i), rows x length; into(i), where the i-th of rows x keep goes;
//          set_values, set_indices

var<workgroup> differing: atomic<u32>;  // bits that are not the same in all keys

fn key_at(row: u32, place: u32, word: u32) -> u32 {
    if place >= launch.length { return 0xffffffffu; }  // behind all, for the place is too
    return sort_key_t(input_nth(row * launch.length + place), word) ^ launch.flip;
}

fn keys_at(row: u32, places: vec4<u32>, word: u32) -> vec4<u32> {
    return vec4<u32>(
        key_at(row, places.x, word), key_at(row, places.y, word),
        key_at(row, places.z, word), key_at(row, places.w, word)
    );
}

fn joined(v: vec4<u32>) -> u32 { return v.x | v.y | v.z | v.w; }

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var row = block.x; row < launch.rows; row += blocks.x) {
        var keys: Own;
        var places: Own;
        var ranks: Own;
        for (var f = 0u; f < FOURS; f++) {
            places[f] = local * ITEMS + 4u * f + vec4<u32>(0u, 1u, 2u, 3u);
        }
        for (var word = select(1u, 0u, WIDE); word < 2u; word++) {
            if local == 0u { atomicStore(&differing, 0u); }
            workgroupBarrier();
            let one = key_at(row, 0u, word);
            var own = 0u;
            for (var f = 0u; f < FOURS; f++) {
                keys[f] = keys_at(row, places[f], word);
                let inside = places[f] < vec4<u32>(launch.length);
                own |= joined(select(vec4<u32>(0u), keys[f] ^ vec4<u32>(one), inside));
            }
            atomicOr(&differing, own);
            workgroupBarrier();
            let bits = atomicLoad(&differing);
            for (var shift = 0u; shift < 32u; shift += 4u) {
                if (bits >> shift) % DIGITS == 0u { continue; }
                rank(&keys, &ranks, shift, local);
                workgroupBarrier();
                put(&keys, &ranks);
                for (var f = 0u; f < FOURS; f++) { keys[f] = got_four(local * ITEMS + 4u * f); }
                workgroupBarrier();
                put(&places, &ranks);
                for (var f = 0u; f < FOURS; f++) { places[f] = got_four(local * ITEMS + 4u * f); }
                workgroupBarrier();
            }
            workgroupBarrier();
        }
        for (var f = 0u; f < FOURS; f++) {
            ranks[f] = local * ITEMS + 4u * f + vec4<u32>(0u, 1u, 2u, 3u);
        }
        put(&places, &ranks);
        for (var i = local; i < launch.keep; i += GROUP) {
            let place = got(i);
            let to = into(row * launch.keep + i);
            set_values(to, input_nth(row * launch.length + place));
            set_indices(to, indices_of(i32(place)));
        }
        workgroupBarrier();
    }
}
