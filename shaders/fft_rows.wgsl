// Whole Fourier transforms along one dimension, each in memory of a workgroup, by Stockham's way.
//
// launch: count inner sign:f32 whole:f32 scale:f32
// expects: ROWS, how many a workgroup does at once; THREADS, of each; LENGTH, elements of memory
//          for each; ABREAST, whether neighbours of a thread do other rows, not the same one;
//          SHIFT, a gap after every 2^SHIFT elements, so that threads do not meet in one bank;
//          load(outer, k, inner) -> c64, store(outer, k, inner, c64), roots_at(k) -> c64;
//          transform(row, x), the passes, thread x of a row

const GROUP = ROWS * THREADS;
var<workgroup> re: array<f32, ROWS * LENGTH>;
var<workgroup> im: array<f32, ROWS * LENGTH>;

struct Row { outer: u32, inner: u32, start: u32, is_there: bool }

fn root(k: u32) -> c64 {
    let w = roots_at(k);
    return c64(w.x, launch.sign * w.y);
}

fn keep(row: Row, k: u32, v: c64) {
    let place = row.start + k + (k >> SHIFT);
    re[place] = v.x;
    im[place] = v.y;
}

fn kept(row: Row, k: u32) -> c64 {
    let place = row.start + k + (k >> SHIFT);
    return c64(re[place], im[place]);
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let beside = select(local / THREADS, local % ROWS, ABREAST);
    let x = select(local % THREADS, local / ROWS, ABREAST);
    for (var first = block.x * ROWS; first < launch.count; first += blocks.x * ROWS) {
        let outer = (first + beside) / launch.inner;
        let inner = first + beside - outer * launch.inner;
        transform(Row(outer, inner, beside * LENGTH, first + beside < launch.count), x);
    }
}
