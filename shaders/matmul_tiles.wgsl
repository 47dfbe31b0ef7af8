// result[b] = x[b] @ y[b], one TILE_M x TILE_N block per workgroup, through workgroup memory.
//
// Each thread computes GROUPS_M x GROUPS_N blocks of 4 x 4, THREADS_M and THREADS_N of them apart.
// Where tiles are few, SLICES (1, 2, 4 or 8) of so many threads take a stretch of k each, and add
// up at the end. Unless k is WHOLE tiles, what lies beyond it is read as zeros. AHEAD, a thread
// holds the next tiles in registers while it works on these: that pays where reading is simple.
//
// launch: m n k batches parts k_part tiles
// expects: THREADS_M THREADS_N GROUPS_M GROUPS_N SLICES TILE_K (8 or 16) WHOLE AHEAD;
//          X_ALONG_K x_place x_quad x_edge; Y_ALONG_K y_place y_quad y_edge; keep; APART, whether
//          results lie apart; ENDING, how many statements end the kernel

const THREADS = THREADS_M * THREADS_N;
const TILE_M = THREADS_M * GROUPS_M * 4u;
const TILE_N = THREADS_N * GROUPS_N * 4u;
const X_LINE = TILE_M / 4u + 1u;  // one quad of padding: rows of k start in different banks
const Y_LINE = TILE_N / 4u + select(0u, 1u, Y_ALONG_K);
const X_LOADS = TILE_M * TILE_K / 4u / THREADS;
const Y_LOADS = TILE_N * TILE_K / 4u / THREADS;
const QUADS_K = TILE_K / 4u;
const BAND = 8u;  // rows of tiles that are walked together: what they read stays in the cache

const QUADS = GROUPS_M * GROUPS_N * 4u;  // of each thread

const SUMS = SLICES / 2u * QUADS * THREADS;  // of half the slices, which follow in the place of x

var<workgroup> x_tile: array<vec4f, max(SLICES * TILE_K * X_LINE, SUMS)>;
var<workgroup> y_tile: array<vec4f, SLICES * TILE_K * Y_LINE>;

const MANY = QUADS > 16u;
// Statements that end the kernel: from so many on they are compiled but once. Unrolled, a tanh is too
// much for the compiler of an H200, which then keeps no total in a register: 18 times as slow.
const LONG = 24u;

alias Totals = array<vec4f, QUADS>;
alias X_From = array<X_PLACE, X_LOADS>;
alias Y_From = array<Y_PLACE, Y_LOADS>;
alias X_Next = array<vec4f, X_LOADS>;
alias Y_Next = array<vec4f, Y_LOADS>;

// Where quad number `at` of a tile lies: (row or column, k).
fn in_x(at: u32) -> vec2u {
    if X_ALONG_K { return vec2u(at / QUADS_K, at % QUADS_K * 4u); }
    return vec2u(at % (TILE_M / 4u) * 4u, at / (TILE_M / 4u));
}

fn in_y(at: u32) -> vec2u {
    if Y_ALONG_K { return vec2u(at / QUADS_K, at % QUADS_K * 4u); }
    return vec2u(at % (TILE_N / 4u) * 4u, at / (TILE_N / 4u));
}

fn fetch_x(places: ptr<function, X_From>, next: ptr<function, X_Next>, local: u32, k: u32) {
    for (var l = 0u; l < X_LOADS; l++) {
        let at = k + in_x(local + l * THREADS).y;
        let place = (*places)[l];
        if WHOLE { (*next)[l] = x_quad(place, at); } else { (*next)[l] = x_edge(place, at); }
    }
}

fn fetch_y(places: ptr<function, Y_From>, next: ptr<function, Y_Next>, local: u32, k: u32) {
    for (var l = 0u; l < Y_LOADS; l++) {
        let at = k + in_y(local + l * THREADS).y;
        let place = (*places)[l];
        if WHOLE { (*next)[l] = y_quad(place, at); } else { (*next)[l] = y_edge(place, at); }
    }
}

fn put_x(slice: u32, at: u32, v: vec4f) {
    let spot = in_x(at);
    let p = (slice * TILE_K + spot.y) * X_LINE + spot.x / 4u;
    if !X_ALONG_K { x_tile[p] = v; return; }
    let lane = spot.x % 4u;
    x_tile[p][lane] = v.x;
    x_tile[p + X_LINE][lane] = v.y;
    x_tile[p + 2u * X_LINE][lane] = v.z;
    x_tile[p + 3u * X_LINE][lane] = v.w;
}

fn put_y(slice: u32, at: u32, v: vec4f) {
    let spot = in_y(at);
    let p = (slice * TILE_K + spot.y) * Y_LINE + spot.x / 4u;
    if !Y_ALONG_K { y_tile[p] = v; return; }
    let lane = spot.x % 4u;
    y_tile[p][lane] = v.x;
    y_tile[p + Y_LINE][lane] = v.y;
    y_tile[p + 2u * Y_LINE][lane] = v.z;
    y_tile[p + 3u * Y_LINE][lane] = v.w;
}

fn multiply(total: ptr<function, Totals>, k: u32, row: u32, col: u32) {
    var b: array<vec4f, GROUPS_N>;
    for (var j = 0u; j < GROUPS_N; j++) { b[j] = y_tile[k * Y_LINE + col + j * THREADS_N]; }
    for (var i = 0u; i < GROUPS_M; i++) {
        let a = x_tile[k * X_LINE + row + i * THREADS_M];
        for (var j = 0u; j < GROUPS_N; j++) {
            let at = (i * GROUPS_N + j) * 4u;
            (*total)[at] = fma(vec4f(a.x), b[j], (*total)[at]);
            (*total)[at + 1u] = fma(vec4f(a.y), b[j], (*total)[at + 1u]);
            (*total)[at + 2u] = fma(vec4f(a.z), b[j], (*total)[at + 2u]);
            (*total)[at + 3u] = fma(vec4f(a.w), b[j], (*total)[at + 3u]);
        }
    }
}

fn multiply_tile(total: ptr<function, Totals>, at: u32, row: u32, col: u32) {
    multiply(total, at, row, col);
    multiply(total, at + 1u, row, col);
    multiply(total, at + 2u, row, col);
    multiply(total, at + 3u, row, col);
    multiply(total, at + 4u, row, col);
    multiply(total, at + 5u, row, col);
    multiply(total, at + 6u, row, col);
    multiply(total, at + 7u, row, col);
    if TILE_K > 8u {
        multiply(total, at + 8u, row, col);
        multiply(total, at + 9u, row, col);
        multiply(total, at + 10u, row, col);
        multiply(total, at + 11u, row, col);
        multiply(total, at + 12u, row, col);
        multiply(total, at + 13u, row, col);
        multiply(total, at + 14u, row, col);
        multiply(total, at + 15u, row, col);
    }
}

// Adds what the slices have up, in the first: each of half of them to one of the others, and again.
fn join(slice: u32, thread: u32, total: ptr<function, Totals>) {
    for (var left = SLICES / 2u; left > 0u; left /= 2u) {
        if slice >= left && slice < 2u * left {
            for (var q = 0u; q < QUADS; q++) {
                x_tile[((slice - left) * QUADS + q) * THREADS + thread] = (*total)[q];
            }
        }
        workgroupBarrier();
        if slice < left {
            for (var q = 0u; q < QUADS; q++) {
                (*total)[q] += x_tile[(slice * QUADS + q) * THREADS + thread];
            }
        }
        workgroupBarrier();
    }
}

// What is stored. Compilers keep sums that go out as they are in neighbouring registers; where
// there are many, NVIDIA's multiplies an eighth faster if, for all that it knows, they change.
fn outgoing(v: vec4f) -> vec4f {
    if !MANY { return v; }
    return bitcast<vec4f>(bitcast<vec4u>(v) + (launch.tiles >> 31u));  // + 0
}

@compute @workgroup_size(THREADS * SLICES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group.y * groups.x + group.x;
    if tile >= launch.tiles { return; }
    let across = (launch.n + TILE_N - 1u) / TILE_N;
    let band = tile / (BAND * across);
    let height = min(BAND, launch.tiles / across - band * BAND);
    let inside = tile % (BAND * across);
    let start_row = (band * BAND + inside % height) * TILE_M;
    let start_col = inside / height * TILE_N;
    let slice = select(0u, local / THREADS, SLICES > 1u);
    let thread = select(local, local % THREADS, SLICES > 1u);
    let row = thread / THREADS_N;
    let col = thread % THREADS_N;
    for (var z = group.z; z < launch.batches * launch.parts; z += groups.z) {
        let batch = z % launch.batches;
        var start = z / launch.batches * launch.k_part;
        var end = min(launch.k, start + launch.k_part);
        var skipped = 0u;  // by this slice
        var own = end;  // where its work ends, maybe before that of other slices
        if SLICES > 1u {
            let stretch = (end - start + SLICES * TILE_K - 1u) / (SLICES * TILE_K) * TILE_K;
            skipped = slice * stretch;
            own = max(skipped, min(end, start + skipped + stretch)) - skipped;
            end = start + stretch;
        }
        var x_from: X_From;
        var y_from: Y_From;
        for (var l = 0u; l < X_LOADS; l++) {
            x_from[l] = x_place(batch, start_row + in_x(thread + l * THREADS).x);
        }
        for (var l = 0u; l < Y_LOADS; l++) {
            y_from[l] = y_place(batch, start_col + in_y(thread + l * THREADS).x);
        }
        var x_next: X_Next;
        var y_next: Y_Next;
        if AHEAD && start < own {
            fetch_x(&x_from, &x_next, thread, start + skipped);
            fetch_y(&y_from, &y_next, thread, start + skipped);
        }
        var total = Totals();  // said: compilers do not clear it for the next z
        while start < end {
            let works = SLICES == 1u || start < own;
            if !AHEAD && works {
                fetch_x(&x_from, &x_next, thread, start + skipped);
                fetch_y(&y_from, &y_next, thread, start + skipped);
            }
            for (var l = 0u; l < X_LOADS; l++) { put_x(slice, thread + l * THREADS, x_next[l]); }
            for (var l = 0u; l < Y_LOADS; l++) { put_y(slice, thread + l * THREADS, y_next[l]); }
            workgroupBarrier();
            start += TILE_K;
            if AHEAD && start < own {
                fetch_x(&x_from, &x_next, thread, start + skipped);
                fetch_y(&y_from, &y_next, thread, start + skipped);
            }
            if works { multiply_tile(&total, slice * TILE_K, row, col); }
            workgroupBarrier();
        }
        if SLICES > 1u {
            join(slice, thread, &total);
            if slice > 0u { continue; }
        }

        if ENDING < LONG && !APART {  // finding their places is long, too
            for (var i = 0u; i < GROUPS_M; i++) {
                for (var j = 0u; j < GROUPS_N; j++) {
                    for (var r = 0u; r < 4u; r++) {
                        let to = start_row + (row + i * THREADS_M) * 4u + r;
                        let side = start_col + (col + j * THREADS_N) * 4u;
                        keep(z, to, side, outgoing(total[(i * GROUPS_N + j) * 4u + r]));
                    }
                }
            }
        } else {  // a loop that compilers cannot unroll
            var done: Totals;
            for (var at = 0u; at < QUADS; at++) { done[at] = outgoing(total[at]); }
            for (var at = 0u; at < min(QUADS, launch.m + QUADS); at++) {  // which is QUADS
                let to = start_row + (row + at / (GROUPS_N * 4u) * THREADS_M) * 4u + at % 4u;
                let side = start_col + (col + at / 4u % GROUPS_N * THREADS_N) * 4u;
                keep(z, to, side, done[at]);
            }
        }
    }
}
