// Counts the digits of the keys: one thread for each part of neighbours.
//
// launch: count parts span shift
// expects: DIGITS; key_of(i); counts_at(i), set_counts(i, n), DIGITS x parts

const GROUP = 16u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let part = id.x;
    if part >= launch.parts { return; }
    for (var digit = 0u; digit < DIGITS; digit++) { counts_words[digit * launch.parts + part] = 0; }
    let end = min(part * launch.span + launch.span, launch.count);
    for (var i = part * launch.span; i < end; i++) {
        let place = (key_of(i) >> launch.shift) % DIGITS * launch.parts + part;
        counts_words[place] += 1;
    }
}
