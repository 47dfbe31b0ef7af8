// Lists where the input is not zero, each chunk from where its share of the list starts; a workgroup
// for each chunk.
//
// launch: count size chunk
// expects: count, how many chunks; size, how many elements; chunk, 256 * OWN;
//          starts_nth(c), where chunk c starts in the list

const GROUP = 256u;
var<workgroup> sums: array<u32, 2u * GROUP>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var c = block.x; c < launch.count; c += blocks.x) {
        let first = c * launch.chunk + local * OWN;
        var found = 0u;  // a bit for each element
        for (var k = 0u; k < OWN; k++) {
            let i = min(first + k, launch.size - 1u);
            found |= select(0u, 1u << k, input_nth(i) && first + k < launch.size);
        }
        sums[local] = countOneBits(found);
        var at = 0u;
        for (var gap = 1u; gap < GROUP; gap *= 2u) {
            workgroupBarrier();
            var sum = sums[at + local];
            if local >= gap { sum += sums[at + local - gap]; }
            at = GROUP - at;
            sums[at + local] = sum;
        }
        var place = u32(starts_nth(c)) + sums[at + local] - countOneBits(found);
        for (var k = 0u; k < OWN; k++) {
            if ((found >> k) & 1u) != 0u {
                set_result(place, result_of(i32(first + k)));
                place++;
            }
        }
        workgroupBarrier();
    }
}
