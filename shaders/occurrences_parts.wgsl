// Joins what the workgroups of occurrences.wgsl counted, and the ends that they found.
//
// launch: places parts
// expects: partials, for each of the parts the counts, the least number and the largest

const GROUP = 256u;
const ABREAST = 32u;  // places of a workgroup
var<workgroup> sums: array<i32, GROUP>;

fn joined(place: u32, a: i32, b: i32) -> i32 {
    if place < launch.places { return a + b; }
    return select(max(a, b), min(a, b), place == launch.places);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) local: u32) {
    let width = launch.places + 2u;
    let place = block.x * ABREAST + local % ABREAST;
    let at = min(place, width - 1u);
    let step = GROUP / ABREAST;
    var own = select(partials_at(at), 0, place < launch.places);
    for (var part = local / ABREAST; part < launch.parts; part += 4u * step) {
        // All loads first: they take long.
        var found: array<i32, 4>;
        for (var k = 0u; k < 4u; k++) {
            found[k] = partials_at(min(part + k * step, launch.parts - 1u) * width + at);
        }
        for (var k = 0u; k < 4u; k++) {
            if part + k * step < launch.parts { own = joined(place, own, found[k]); }
        }
    }
    sums[local] = own;
    for (var half = GROUP / 2u; half >= ABREAST; half /= 2u) {
        workgroupBarrier();
        if local < half { sums[local] = joined(place, sums[local], sums[local + half]); }
    }
    if local < ABREAST && place < width { set_result(place, result_of(sums[local])); }
}
