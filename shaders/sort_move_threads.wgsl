// Moves each key to its place by one digit, in order: one thread for each part of neighbours.
//
// launch: count parts span shift
// expects: DIGITS; key_of(i), old(i), set_key(i, key), set_old(i, place); counts_words (those of the
//          parts before), totals_words

const GROUP = 16u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let part = id.x;
    if part >= launch.parts { return; }
    var begin = 0;
    for (var digit = 0u; digit < DIGITS; digit++) {
        counts_words[digit * launch.parts + part] += begin;
        begin += totals_words[digit];
    }
    let end = min(part * launch.span + launch.span, launch.count);
    for (var i = part * launch.span; i < end; i++) {
        let key = key_of(i);
        let place = (key >> launch.shift) % DIGITS * launch.parts + part;
        let target_place = u32(counts_words[place]);
        counts_words[place] += 1;
        set_key(target_place, key);
        set_old(target_place, old(i));
    }
}
