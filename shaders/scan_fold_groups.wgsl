// Folds each split of a row, in order: a workgroup for each.
//
// launch: units cols span rows splits
// expects: STEP; Base, base; A, nothing, combine; Q, empty, gather, total; leave_part

const GROUP = 256u;
var<workgroup> totals: array<A, GROUP>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let steps = (launch.cols + STEP - 1u) / STEP;
    let end = min(block.y * launch.span + launch.span, steps);
    for (var unit = block.x; unit < launch.units; unit += blocks.x) {
        let row = base(unit);
        var carry = nothing();
        for (var chunk = block.y * launch.span; chunk < end; chunk += GROUP) {
            let i = chunk + local;
            var own = empty();
            if i < end { own = gather(row, i * STEP); }
            totals[local] = total(own);
            for (var gap = 1u; gap < GROUP; gap *= 2u) {  // neighbours first: the order counts
                workgroupBarrier();
                if local % (2u * gap) == 0u {
                    totals[local] = combine(totals[local], totals[local + gap]);
                }
            }
            workgroupBarrier();
            carry = combine(carry, totals[0]);
            workgroupBarrier();
        }
        if local == 0u { leave_part(unit, block.y, carry); }
    }
}
