// Folds the middle axis of an outer x cols x inner array; one workgroup per number that is left.
//
// launch: rows cols inner
// expects: fn element(i: u32) -> A, fn combine(a: A, b: A) -> A, fn identity() -> A,
//          fn finish(row: u32, a: A)

const GROUP = 64u;
var<workgroup> folded: array<A, GROUP>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var row = block.x; row < launch.rows; row += blocks.x) {
        let start = row / launch.inner * launch.cols * launch.inner + row % launch.inner;
        var total = identity();
        for (var col = local; col < launch.cols; col += GROUP) {
            total = combine(total, element(start + col * launch.inner));
        }
        folded[local] = total;
        for (var half = GROUP / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if local < half { folded[local] = combine(folded[local], folded[local + half]); }
        }
        if local == 0u { finish(row, folded[0]); }
        workgroupBarrier();
    }
}
