// result[b] = x[b] @ y[b] in registers alone, for adapters that run eight threads as one on a CPU,
// where barriers cost more than reading again.
//
// Each thread computes BLOCKS x 8 rows of four columns. Of x, which all eight need, each loads an
// eighth and shows it to the others.
//
// launch: m n k batches parts k_part tiles
// expects: BLOCKS; X_ALONG_K x_place x_edge; Y_ALONG_K y_place y_edge; keep; ENDING, how many
//          statements end the kernel

const LANES = 8u;
const ROWS = BLOCKS * 8u;

// Sums that are ended one row after the other, each thread's for itself: of an array in registers
// Mesa would look every place up by a tree of branches, which took 1 to 4 s to compile.
var<workgroup> done: array<vec4f, ROWS * LANES>;

alias Block = array<vec4f, 8>;  // of x: eight rows, four along k of each

fn x_block(at: X_PLACE, k: u32, lane: u32) -> Block {
    if X_ALONG_K {
        let v = x_edge(at, k);
        return Block(
            subgroupBroadcast(v, 0u), subgroupBroadcast(v, 1u), subgroupBroadcast(v, 2u),
            subgroupBroadcast(v, 3u), subgroupBroadcast(v, 4u), subgroupBroadcast(v, 5u),
            subgroupBroadcast(v, 6u), subgroupBroadcast(v, 7u)
        );
    }
    let v = x_edge(at, k + lane / 2u);
    let low = transpose(mat4x4f(
        subgroupBroadcast(v, 0u), subgroupBroadcast(v, 2u), subgroupBroadcast(v, 4u),
        subgroupBroadcast(v, 6u)
    ));
    let high = transpose(mat4x4f(
        subgroupBroadcast(v, 1u), subgroupBroadcast(v, 3u), subgroupBroadcast(v, 5u),
        subgroupBroadcast(v, 7u)
    ));
    return Block(low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]);
}

alias Y_PLACES = array<Y_PLACE, 4>;

fn y_places(batch: u32, col: u32) -> Y_PLACES {
    let first = y_place(batch, col);
    if !Y_ALONG_K { return Y_PLACES(first, first, first, first); }
    return Y_PLACES(
        first, y_place(batch, col + 1u), y_place(batch, col + 2u), y_place(batch, col + 3u)
    );
}

// Four along k, each of four columns.
fn y_block(at: Y_PLACES, k: u32) -> mat4x4f {
    if Y_ALONG_K {
        return transpose(
            mat4x4f(y_edge(at[0], k), y_edge(at[1], k), y_edge(at[2], k), y_edge(at[3], k))
        );
    }
    let p = at[0];
    return mat4x4f(y_edge(p, k), y_edge(p, k + 1u), y_edge(p, k + 2u), y_edge(p, k + 3u));
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = group.y * groups.x + group.x;
    if tile >= launch.tiles { return; }
    let across = (launch.n + LANES * 4u - 1u) / (LANES * 4u);
    let row = tile / across * ROWS;
    let col = (tile % across * LANES + lane) * 4u;
    for (var z = group.z; z < launch.batches * launch.parts; z += groups.z) {
        let batch = z % launch.batches;
        let start = z / launch.batches * launch.k_part;
        let end = min(launch.k, start + launch.k_part);
        var xs: array<X_PLACE, BLOCKS>;
        for (var i = 0u; i < BLOCKS; i++) {
            xs[i] = x_place(batch, row + i * 8u + select(lane % 2u * 4u, lane, X_ALONG_K));
        }
        let ys = y_places(batch, col);

        var total = array<Block, BLOCKS>();  // said: compilers do not clear it for the next z
        for (var k = start; k < end;) {  // parts of k add up alone, then to the total
            let stop = min(k + 256u, end);
            var part = array<Block, BLOCKS>();
            for (; k < stop; k += 4u) {
                let b = y_block(ys, k);
                for (var i = 0u; i < BLOCKS; i++) {
                    let a = x_block(xs[i], k, lane);
                    for (var r = 0u; r < 8u; r++) { part[i][r] += b * a[r]; }
                }
            }
            for (var i = 0u; i < BLOCKS; i++) {
                for (var r = 0u; r < 8u; r++) { total[i][r] += part[i][r]; }
            }
        }

        if ENDING == 0u {
            for (var i = 0u; i < BLOCKS; i++) {
                for (var r = 0u; r < 8u; r++) { keep(z, row + i * 8u + r, col, total[i][r]); }
            }
        } else {
            for (var i = 0u; i < BLOCKS; i++) {
                for (var r = 0u; r < 8u; r++) { done[(i * 8u + r) * LANES + lane] = total[i][r]; }
            }
            let rows = min(ROWS, launch.m - row);
            for (var r = 0u; r < rows; r++) { keep(z, row + r, col, done[r * LANES + lane]); }
        }
    }
}
