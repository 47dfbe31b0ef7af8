// Counts how often each of a few numbers occurs, in memory of each workgroup, and finds the ends.
//
// launch: count first:i32 places copies chunk
// expects: the numbers from `first` on have places; CELLS, at least places * copies; copies, a power
//          of two, so that fewer threads meet; chunk, elements of a workgroup; partials, for each
//          workgroup the counts, the least number and the largest

const GROUP = 256u;
var<workgroup> cells: array<atomic<u32>, CELLS>;
var<workgroup> least: atomic<i32>;
var<workgroup> largest: atomic<i32>;

fn note(x: i32, copy: u32) {
    let place = bitcast<u32>(x) - bitcast<u32>(launch.first);
    if x >= launch.first && place < launch.places {
        atomicAdd(&cells[place * launch.copies + copy], 1u);
    }
}

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) local: u32) {
    for (var i = local; i < launch.places * launch.copies; i += GROUP) {
        atomicStore(&cells[i], 0u);
    }
    if local == 0u {
        atomicStore(&least, 2147483647);
        atomicStore(&largest, -2147483647);
    }
    workgroupBarrier();
    let copy = local % launch.copies;
    let end = min((block.x + 1u) * launch.chunk, launch.count);
    var low = 2147483647;
    var high = -2147483647;
    for (var i = block.x * launch.chunk + local; i < end; i += 4u * GROUP) {
        // All loads first: they take long. What is taken again at the end is not counted again.
        let a = input_nth(i);
        let b = input_nth(min(i + GROUP, end - 1u));
        let c = input_nth(min(i + 2u * GROUP, end - 1u));
        let d = input_nth(min(i + 3u * GROUP, end - 1u));
        low = min(low, min(min(a, b), min(c, d)));
        high = max(high, max(max(a, b), max(c, d)));
        note(a, copy);
        if i + GROUP < end { note(b, copy); }
        if i + 2u * GROUP < end { note(c, copy); }
        if i + 3u * GROUP < end { note(d, copy); }
    }
    atomicMin(&least, low);
    atomicMax(&largest, high);
    workgroupBarrier();
    let row = block.x * (launch.places + 2u);
    for (var place = local; place < launch.places; place += GROUP) {
        var total = 0u;
        for (var k = 0u; k < launch.copies; k++) {
            total += atomicLoad(&cells[place * launch.copies + k]);
        }
        set_partials(row + place, i32(total));
    }
    if local == 0u {
        set_partials(row + launch.places, atomicLoad(&least));
        set_partials(row + launch.places + 1u, atomicLoad(&largest));
    }
}
