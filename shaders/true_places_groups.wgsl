// Lists what belongs to where a mask holds, each chunk from where its share of the list starts; a
// workgroup for each chunk.
//
// launch: count size chunk
// expects: count, how many chunks; size, how many elements; chunk, 256 * OWN * TURNS;
//          starts_nth(c), where chunk c starts in the list; leave(place, i), of element i

const GROUP = 256u;
alias A = u32;
var<workgroup> sums: array<A, 2u * GROUP>;
var<workgroup> list: array<u32, GROUP * OWN>;  // so that neighbours write beside each other

fn combine(a: A, b: A) -> A { return a + b; }

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var c = block.x; c < launch.count; c += blocks.x) {
        var place = u32(starts_nth(c));
        for (var turn = 0u; turn < TURNS; turn++) {
            let first = c * launch.chunk + turn * GROUP * OWN + local * OWN;
            var found = 0u;  // a bit for each element
            for (var k = 0u; k < OWN; k++) {
                let i = min(first + k, launch.size - 1u);
                found |= select(0u, 1u << k, mask_nth(i) && first + k < launch.size);
            }
            let sum = running_sum(local, countOneBits(found));
            var at = sum.before;
            for (var k = 0u; k < OWN; k++) {
                if ((found >> k) & 1u) != 0u {
                    list[at] = first + k;
                    at++;
                }
            }
            workgroupBarrier();
            for (var t = local; t < sum.total; t += GROUP) { leave(place + t, list[t]); }
            place += sum.total;
        }
    }
}
