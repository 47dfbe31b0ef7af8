// Folds each split of a row, in order: a workgroup for each.
//
// launch: units cols span rows splits
// expects: STEP; Base, base; A, nothing, combine; Q, empty, gather, total; leave_part

const GROUP = 256u;
const OWN = 4u;  // neighbours of a thread
var<workgroup> totals: array<A, GROUP>;

fn at(row: Base, i: u32) -> A { return total(gather(row, i * STEP)); }

fn folded(row: Base, first: u32, end: u32) -> A {
    if first + OWN <= end {
        let a = at(row, first);
        let b = at(row, first + 1u);
        let c = at(row, first + 2u);
        let d = at(row, first + 3u);
        return combine(combine(a, b), combine(c, d));
    }
    var own = nothing();
    for (var i = first; i < end; i++) { own = combine(own, at(row, i)); }
    return own;
}

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
        for (var chunk = block.y * launch.span; chunk < end; chunk += OWN * GROUP) {
            totals[local] = folded(row, chunk + OWN * local, end);
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
