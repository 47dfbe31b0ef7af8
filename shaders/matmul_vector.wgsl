// result[b] = x[b] @ y[b] where y[b] is a single column: one pass over x, each thread a share of k.
//
// launch: m n k batches parts k_part tiles
// expects: X_ALONG_K x_place x_quad x_edge; y_place y_quad y_edge, along k; keep

const THREADS = 128u;
const ROW_LANES = select(32u, 1u, X_ALONG_K);  // threads side by side along the rows of x
const K_LANES = THREADS / ROW_LANES;
const ROWS = select(4u * ROW_LANES, 1u, X_ALONG_K);

var<workgroup> shares: array<vec4f, THREADS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group.y * groups.x + group.x;
    if tile >= launch.tiles { return; }
    let row = tile * ROWS + local % ROW_LANES * 4u;
    for (var z = group.z; z < launch.batches * launch.parts; z += groups.z) {
        let batch = z % launch.batches;
        let start = z / launch.batches * launch.k_part;
        let end = min(launch.k, start + launch.k_part);
        let x_from = x_place(batch, row);
        let y_from = y_place(batch, 0u);
        var total = vec4f();
        for (var k = start + local / ROW_LANES * 4u; k < end; k += K_LANES * 4u) {
            let whole = k + 4u <= launch.k;
            var b: vec4f;
            if whole { b = y_quad(y_from, k); } else { b = y_edge(y_from, k); }
            if X_ALONG_K {
                var a: vec4f;
                if whole { a = x_quad(x_from, k); } else { a = x_edge(x_from, k); }
                total += a * b;
            } else {
                total += x_edge(x_from, k) * b.x + x_edge(x_from, k + 1u) * b.y
                    + x_edge(x_from, k + 2u) * b.z + x_edge(x_from, k + 3u) * b.w;
            }
        }
        shares[local] = total;
        for (var half = K_LANES / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if local < half * ROW_LANES { shares[local] += shares[local + half * ROW_LANES]; }
        }
        if local < ROW_LANES {
            let sum = shares[local];
            if X_ALONG_K {
                keep(z, row, 0u, vec4f(sum.x + sum.y + sum.z + sum.w));
            } else {
                keep(z, row, 0u, vec4f(sum.x));
                keep(z, row + 1u, 0u, vec4f(sum.y));
                keep(z, row + 2u, 0u, vec4f(sum.z));
                keep(z, row + 3u, 0u, vec4f(sum.w));
            }
        }
        workgroupBarrier();
    }
}
