// Replaces what each split of a row came to by what all splits before it come to; a workgroup a row.
//
// launch: rows splits
// expects: A, nothing, combine; part_at, set_part

const GROUP = 256u;
var<workgroup> sums: array<A, GROUP>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var row = block.x; row < launch.rows; row += blocks.x) {
        var carry = nothing();
        for (var chunk = 0u; chunk < launch.splits; chunk += GROUP) {
            let split = chunk + local;
            var own = nothing();
            if split < launch.splits { own = part_at(split * launch.rows + row); }
            sums[local] = own;
            for (var gap = 1u; gap < GROUP; gap *= 2u) {
                workgroupBarrier();
                var sum = sums[local];
                if local >= gap { sum = combine(sums[local - gap], sum); }
                workgroupBarrier();
                sums[local] = sum;
            }
            workgroupBarrier();
            var before = carry;
            if local > 0u { before = combine(carry, sums[local - 1u]); }
            if split < launch.splits { set_part(split * launch.rows + row, before); }
            carry = combine(carry, sums[GROUP - 1u]);
            workgroupBarrier();
        }
    }
}
