// Adds to each place of the result what the workgroups of tally.wgsl found there.
//
// launch: places parts
// expects: partials, places x parts; merged(a, b)

const GROUP = 64u;
var<workgroup> sums: array<partials_type, GROUP>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) local: u32) {
    var own = partials_type();
    for (var part = local; part < launch.parts; part += GROUP) {
        own = merged(own, partials_at(block.x * launch.parts + part));
    }
    sums[local] = own;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if local < half { sums[local] = merged(sums[local], sums[local + half]); }
    }
    if local == 0u { set_result(block.x, merged(result_at(block.x), sums[0])); }
}
