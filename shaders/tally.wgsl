// Sums up the elements of a source where an index says, in memory of each workgroup: a few places.
//
// launch: count stride size:i32 lowest:i32 places copies parts
// expects: as scatter.wgsl; CELLS, at least places * copies of them (each of WORDS words); copies, a
//          power of two, so that fewer threads meet; partials, places x parts, a part by a workgroup

const GROUP = 256u;
const NOWHERE = 0xffffffffu;
var<workgroup> cells: array<atomic<u32>, CELLS * WORDS>;

fn place_of(i: u32) -> u32 {
    if i >= launch.count { return NOWHERE; }
    let index = index_nth(i);
    if index < launch.lowest || index >= launch.size {
        report_out_of_range(bitcast<u32>(index));
        return NOWHERE;
    }
    return base(i) + u32(select(index, index + launch.size, index < 0)) * launch.stride;
}

fn add(place: u32, copy: u32, value: source_type) {
    if place != NOWHERE { cells_add_t(place * launch.copies + copy, value); }
}

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) local: u32) {
    for (var i = local; i < CELLS * WORDS; i += GROUP) { atomicStore(&cells[i], 0u); }
    workgroupBarrier();
    let copy = local % launch.copies;
    let step = launch.parts * GROUP;
    let last = launch.count - 1u;
    for (var i = block.x * GROUP + local; i < launch.count; i += 4u * step) {
        // All loads first: they take long, and nothing waits for one of them.
        let places = vec4<u32>(
            place_of(i), place_of(i + step), place_of(i + 2u * step), place_of(i + 3u * step)
        );
        let a = source_nth(i);
        let b = source_nth(min(i + step, last));
        let c = source_nth(min(i + 2u * step, last));
        let d = source_nth(min(i + 3u * step, last));
        add(places.x, copy, a);
        add(places.y, copy, b);
        add(places.z, copy, c);
        add(places.w, copy, d);
    }
    workgroupBarrier();
    for (var place = local; place < launch.places; place += GROUP) {
        var total = cells_at_t(place * launch.copies);
        for (var k = 1u; k < launch.copies; k++) {
            total = merged(total, cells_at_t(place * launch.copies + k));
        }
        set_partials(place * launch.parts + block.x, total);
    }
}
