// Replaces each count by those of the parts before it; a workgroup for each digit.
//
// launch: parts
// expects: DIGITS; counts_words, DIGITS x parts; totals_words, DIGITS

const GROUP = 256u;
const OWN = 8u;  // neighbours of a thread
alias A = i32;
var<workgroup> sums: array<A, 2u * GROUP>;

fn combine(a: A, b: A) -> A { return a + b; }

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) local: u32) {
    let row = block.x * launch.parts;
    var carry = 0;
    for (var chunk = 0u; chunk < launch.parts; chunk += OWN * GROUP) {
        let first = chunk + OWN * local;
        var counts: array<i32, OWN>;
        var own = 0;
        for (var k = 0u; k < OWN; k++) {
            if first + k < launch.parts { counts[k] = counts_words[row + first + k]; }
            own += counts[k];
        }
        let sum = running_sum(local, own);
        var before = carry + sum.before;
        for (var k = 0u; k < OWN; k++) {
            if first + k < launch.parts { counts_words[row + first + k] = before; }
            before += counts[k];
        }
        carry += sum.total;
    }
    if local == 0u { totals_words[block.x] = carry; }
}
