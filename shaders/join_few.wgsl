// Joins what has equal keys with what is there, in the order of the source, when keys are few.
//
// launch: count size width stride keys
// expects: as join_groups.wgsl, but for key_of(i) and old(i), of which there is no need

fn compute(i: u32) {
    let first = i / launch.width;
    let c = i % launch.width;
    let key = u32(keys_a_at(first));
    if key >= launch.keys { return; }
    for (var k = 0u; k < first; k++) {
        if u32(keys_a_at(k)) == key { return; }
    }
    let place = base(c) + key * launch.stride;
    let column = beside(c);
    var total = result_at(place);
    for (var k = first; k < launch.size; k++) {
        if u32(keys_a_at(k)) == key { total = merged(total, source_at(column + along(k))); }
    }
    set_result(place, total);
}
