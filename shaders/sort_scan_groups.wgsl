// Replaces each count by those of the parts before it; a workgroup for each digit.
//
// launch: parts
// expects: DIGITS; counts_words, DIGITS x parts; totals_words, DIGITS

const GROUP = 256u;
var<workgroup> sums: array<i32, GROUP>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) local: u32) {
    let row = block.x * launch.parts;
    var carry = 0;
    for (var chunk = 0u; chunk < launch.parts; chunk += GROUP) {
        let part = chunk + local;
        var own = 0;
        if part < launch.parts { own = counts_words[row + part]; }
        sums[local] = own;
        for (var gap = 1u; gap < GROUP; gap *= 2u) {
            workgroupBarrier();
            var sum = sums[local];
            if local >= gap { sum += sums[local - gap]; }
            workgroupBarrier();
            sums[local] = sum;
        }
        workgroupBarrier();
        if part < launch.parts { counts_words[row + part] = carry + sums[local] - own; }
        carry += sums[GROUP - 1u];
        workgroupBarrier();
    }
    if local == 0u { totals_words[block.x] = carry; }
}
