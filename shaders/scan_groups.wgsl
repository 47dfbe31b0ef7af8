// Joins each element of a row with all before it: a workgroup for each row, or split of it.
//
// launch: units cols span rows splits
// expects: STEP; Base, base; A, nothing, combine; begin; Q, empty, gather, total, spread

const GROUP = 256u;
var<workgroup> sums: array<A, 2u * GROUP>;

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
        var carry = begin(unit, block.y);
        for (var chunk = block.y * launch.span; chunk < end; chunk += GROUP) {
            let i = chunk + local;
            var own = empty();
            if i < end { own = gather(row, i * STEP); }
            let sum = running_sum(local, total(own));
            var before = carry;
            if local > 0u { before = combine(carry, sum.before); }
            if i < end { spread(before, own, row, i * STEP); }
            carry = combine(carry, sum.total);
        }
    }
}
