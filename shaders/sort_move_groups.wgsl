// Moves each key to its place by one digit, in order: a workgroup for each part of neighbours.
//
// launch: count parts span shift
// expects: ranking.wgsl, span = 256 * ITEMS; key_of(i), old(i), set_key(i, key), set_old(i, place);
//          counts_words (those of the parts before), totals_words

var<workgroup> begins: array<u32, DIGITS>;  // less how many keys of this part go before

fn key_in(i: u32) -> u32 {
    if i < launch.count { return key_of(i); }
    return 0xffffffffu;  // behind all, for it is there already
}
fn old_in(i: u32) -> u32 { return old(min(i, launch.count - 1u)); }

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    var total = 0u;  // of the digits before
    if local < DIGITS {
        for (var digit = 0u; digit < local; digit++) { total += u32(totals_words[digit]); }
    }
    for (var part = block.x; part < launch.parts; part += blocks.x) {
        let first = part * launch.span + local * ITEMS;
        var keys: Own;
        var ranks: Own;
        for (var f = 0u; f < FOURS; f++) {
            let i = first + 4u * f;
            keys[f] = vec4<u32>(key_in(i), key_in(i + 1u), key_in(i + 2u), key_in(i + 3u));
        }
        rank(&keys, &ranks, launch.shift, local);
        if local < DIGITS {
            begins[local] = total + u32(counts_words[local * launch.parts + part])
                - begin_of(local, 0u);
        }
        workgroupBarrier();
        put(&keys, &ranks);
        let many = min(launch.span, launch.count - part * launch.span);
        var places: Own;
        for (var k = 0u; k < ITEMS; k++) {
            let i = k * GROUP + local;
            let key = got(i);
            places[k / 4u][k % 4u] = begins[(key >> launch.shift) % DIGITS] + i;
            if i < many { set_key(places[k / 4u][k % 4u], key); }
        }
        workgroupBarrier();
        for (var f = 0u; f < FOURS; f++) {
            let i = first + 4u * f;
            keys[f] = vec4<u32>(old_in(i), old_in(i + 1u), old_in(i + 2u), old_in(i + 3u));
        }
        put(&keys, &ranks);
        for (var k = 0u; k < ITEMS; k++) {
            let i = k * GROUP + local;
            if i < many { set_old(places[k / 4u][k % 4u], got(i)); }
        }
        workgroupBarrier();
    }
}
