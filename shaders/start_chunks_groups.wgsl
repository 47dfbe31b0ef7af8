// Turns counts into where each of them starts, and leaves their total; one workgroup for all.
//
// launch: size
// expects: size, how many counts

const GROUP = 256u;
const OWN = 16u;  // neighbours of a thread
alias A = i32;
var<workgroup> sums: array<A, 2u * GROUP>;

fn combine(a: A, b: A) -> A { return a + b; }

@compute @workgroup_size(GROUP)
fn main(@builtin(local_invocation_index) local: u32) {
    var carry = 0;
    for (var chunk = 0u; chunk < launch.size; chunk += OWN * GROUP) {
        let first = chunk + OWN * local;
        var counts: array<i32, OWN>;
        var own = 0;
        for (var k = 0u; k < OWN; k++) {
            counts[k] = counts_words[min(first + k, launch.size - 1u)];
            own += select(0, counts[k], first + k < launch.size);
        }
        let sum = running_sum(local, own);
        var before = carry + sum.before;
        for (var k = 0u; k < OWN; k++) {
            if first + k < launch.size { set_counts(first + k, before); }
            before += counts[k];
        }
        carry += sum.total;
    }
    if local == 0u { set_total(0u, carry); }
}
