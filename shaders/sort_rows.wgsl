// Sorts rows of at most SIZE elements, each in a workgroup (Batcher's bitonic network), and leaves
// the first few of each.
//
// launch: rows length flip keep
// expects: SIZE (a power of two), WIDE (whether a value has two words); input_nth(i), rows x length;
//          into(i), where the i-th of rows x keep goes; set_values, set_indices

const GROUP = 256u;
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

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var row = block.x; row < launch.rows; row += blocks.x) {
        for (var i = local; i < SIZE; i += GROUP) {
            places[i] = i;
            keys[i] = 0xffffffffu;  // beyond the row: behind all, for the place is too
            if WIDE { lower[i] = 0xffffffffu; }
            if i < launch.length {
                let value = input_nth(row * launch.length + i);
                keys[i] = sort_key_t(value, 1u) ^ launch.flip;
                if WIDE { lower[i] = sort_key_t(value, 0u) ^ launch.flip; }
            }
        }
        for (var run = 2u; run <= SIZE; run *= 2u) {
            for (var gap = run / 2u; gap > 0u; gap /= 2u) {
                workgroupBarrier();
                for (var i = local; i < SIZE / 2u; i += GROUP) {
                    let a = i / gap * 2u * gap + i % gap;
                    let b = a + gap;
                    if is_before(b, a) == ((a & run) == 0u) { swap(a, b); }
                }
            }
        }
        workgroupBarrier();
        for (var i = local; i < launch.keep; i += GROUP) {
            let place = places[i];
            let to = into(row * launch.keep + i);
            set_values(to, input_nth(row * launch.length + place));
            set_indices(to, indices_of(i32(place)));
        }
        workgroupBarrier();
    }
}
