// Replaces each count by those of the parts before it; a thread for each digit.
//
// launch: parts
// expects: DIGITS; counts_words, DIGITS x parts; totals_words, DIGITS

const GROUP = 16u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= DIGITS { return; }
    var sum = 0;
    for (var part = 0u; part < launch.parts; part++) {
        let here = counts_words[id.x * launch.parts + part];
        counts_words[id.x * launch.parts + part] = sum;
        sum += here;
    }
    totals_words[id.x] = sum;
}
