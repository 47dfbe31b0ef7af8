// What a workgroup sorts in its memory: keys, of one word or two, and the places they came from, which
// decide between equal keys. By Batcher's bitonic network.
//
// expects: SIZE (how much room there is: a power of two), WIDE (whether keys have two words), GROUP

const LOWER = select(1u, SIZE, WIDE);
var<workgroup> keys: array<u32, SIZE>;
var<workgroup> lower: array<u32, LOWER>;
var<workgroup> places: array<u32, SIZE>;

fn is_before(a: u32, b: u32) -> bool {
    if keys[a] != keys[b] { return keys[a] < keys[b]; }
    if WIDE { if lower[a] != lower[b] { return lower[a] < lower[b]; } }
    return places[a] < places[b];
}

fn swap(a: u32, b: u32) {
    let key = keys[a];
    keys[a] = keys[b];
    keys[b] = key;
    let place = places[a];
    places[a] = places[b];
    places[b] = place;
    if WIDE {
        let low = lower[a];
        lower[a] = lower[b];
        lower[b] = low;
    }
}

// Sorts the first `size`, a power of two.
fn put_in_order(thread: u32, size: u32) {
    for (var run = 2u; run <= size; run *= 2u) {
        for (var gap = run / 2u; gap > 0u; gap /= 2u) {
            workgroupBarrier();
            for (var i = thread; i < size / 2u; i += GROUP) {
                let a = i / gap * 2u * gap + i % gap;
                let b = a + gap;
                if is_before(b, a) == ((a & run) == 0u) { swap(a, b); }
            }
        }
    }
    workgroupBarrier();
}
