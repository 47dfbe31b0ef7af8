// Replaces what each split of a row came to by what all splits before it come to; a workgroup a row.
//
// launch: rows splits
// expects: A, nothing, combine; part_at, set_part

const GROUP = 256u;
const OWN = 8u;  // neighbours of a thread
var<workgroup> sums: array<A, 2u * GROUP>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var row = block.x; row < launch.rows; row += blocks.x) {
        var carry = nothing();
        for (var chunk = 0u; chunk < launch.splits; chunk += OWN * GROUP) {
            let first = chunk + OWN * local;
            var parts: array<A, OWN>;
            var own = nothing();
            for (var k = 0u; k < OWN; k++) {  // all loads first: they take long
                parts[k] = part_at(min(first + k, launch.splits - 1u) * launch.rows + row);
            }
            for (var k = 0u; k < OWN; k++) {
                if first + k < launch.splits { own = combine(own, parts[k]); }
            }
            let sum = running_sum(local, own);
            var before = carry;
            if local > 0u { before = combine(carry, sum.before); }
            for (var k = 0u; k < OWN; k++) {
                if first + k < launch.splits {
                    set_part((first + k) * launch.rows + row, before);
                    before = combine(before, parts[k]);
                }
            }
            carry = combine(carry, sum.total);
        }
    }
}
