// Finds where the winner is along the middle axis of an outer x cols x inner array.
//
// launch: rows cols inner
// expects: fn element(i: u32) -> A, fn combine(a: A, b: A) -> bool (does b beat a?),
//          fn finish(row: u32, index: u32)

const GROUP = 64u;
struct Best { value: A, index: u32 }
var<workgroup> best: array<Best, GROUP>;

fn better(a: Best, b: Best) -> Best {
    if combine(a.value, b.value) { return b; }
    if combine(b.value, a.value) { return a; }
    if b.index < a.index { return b; }
    return a;
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var row = block.x; row < launch.rows; row += blocks.x) {
        let start = row / launch.inner * launch.cols * launch.inner + row % launch.inner;
        let first = min(local, launch.cols - 1u);
        var found = Best(element(start + first * launch.inner), first);
        for (var col = local + GROUP; col < launch.cols; col += GROUP) {
            found = better(found, Best(element(start + col * launch.inner), col));
        }
        best[local] = found;
        for (var half = GROUP / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if local < half { best[local] = better(best[local], best[local + half]); }
        }
        if local == 0u { finish(row, best[0].index); }
        workgroupBarrier();
    }
}
