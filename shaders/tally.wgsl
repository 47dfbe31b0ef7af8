// Sums up the elements of a source where an index says, in memory of each workgroup: a few places.
//
// launch: count stride size:i32 lowest:i32 places copies units chunk
// expects: as scatter.wgsl; CELLS, at least places * copies of them (each of WORDS words); copies, a
//          power of two, so that fewer threads meet; units of `chunk` elements, a workgroup for
//          each; cell(i, row), the place among them of element i; leave(unit, place, total)

const GROUP = 256u;
const NOWHERE = 0xffffffffu;
var<workgroup> cells: array<atomic<u32>, CELLS * WORDS>;

fn place_of(i: u32, end: u32) -> u32 {
    if i >= end { return NOWHERE; }
    let index = index_nth(i);
    if index < launch.lowest || index >= launch.size {
        report_out_of_range(bitcast<u32>(index));
        return NOWHERE;
    }
    return cell(i, u32(select(index, index + launch.size, index < 0)));
}

fn add(place: u32, copy: u32, value: source_type) {
    if place != NOWHERE { cells_add_t(place * launch.copies + copy, value); }
}

fn add_unit(unit: u32, local: u32) {
    let copy = local % launch.copies;
    let end = min((unit + 1u) * launch.chunk, launch.count);
    for (var i = unit * launch.chunk + local; i < end; i += 4u * GROUP) {
        // All loads first: they take long, and nothing waits for one of them.
        let places = vec4<u32>(
            place_of(i, end), place_of(i + GROUP, end),
            place_of(i + 2u * GROUP, end), place_of(i + 3u * GROUP, end)
        );
        let a = source_nth(i);
        let b = source_nth(min(i + GROUP, end - 1u));
        let c = source_nth(min(i + 2u * GROUP, end - 1u));
        let d = source_nth(min(i + 3u * GROUP, end - 1u));
        add(places.x, copy, a);
        add(places.y, copy, b);
        add(places.z, copy, c);
        add(places.w, copy, d);
    }
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var unit = block.x; unit < launch.units; unit += blocks.x) {
        let used = launch.places * launch.copies * WORDS;
        for (var i = local; i < used; i += GROUP) { atomicStore(&cells[i], 0u); }
        workgroupBarrier();
        add_unit(unit, local);
        workgroupBarrier();
        for (var place = local; place < launch.places; place += GROUP) {
            var total = cells_at_t(place * launch.copies);
            for (var k = 1u; k < launch.copies; k++) {
                total = merged(total, cells_at_t(place * launch.copies + k));
            }
            leave(unit, place, total);
        }
        workgroupBarrier();
    }
}
