// result[b] = x[b] @ y[b], 4 x 4 per thread and nothing shared: for adapters that run on a CPU, and
// for products too small to fill anything larger.
//
// launch: m n k batches parts k_part tiles
// expects: X_ALONG_K x_place x_edge; Y_ALONG_K y_place y_edge; keep

const LANES = 8u;
const TILE = 4u * LANES;
const X_APART = select(0u, 1u, X_ALONG_K);  // four quads of x are four rows, or four steps along k
const Y_APART = select(0u, 1u, Y_ALONG_K);

@compute @workgroup_size(LANES, LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_id) local: vec3u,
) {
    let tile = group.y * groups.x + group.x;
    if tile >= launch.tiles { return; }
    let across = (launch.n + TILE - 1u) / TILE;
    let row = tile / across * TILE + local.y * 4u;
    let col = tile % across * TILE + local.x * 4u;
    if row >= launch.m || col >= launch.n { return; }
    for (var z = group.z; z < launch.batches * launch.parts; z += groups.z) {
        let batch = z % launch.batches;
        let start = z / launch.batches * launch.k_part;
        let end = min(launch.k, start + launch.k_part);
        let x0 = x_place(batch, row);
        let x1 = x_place(batch, row + X_APART);
        let x2 = x_place(batch, row + 2u * X_APART);
        let x3 = x_place(batch, row + 3u * X_APART);
        let y0 = y_place(batch, col);
        let y1 = y_place(batch, col + Y_APART);
        let y2 = y_place(batch, col + 2u * Y_APART);
        let y3 = y_place(batch, col + 3u * Y_APART);
        var t0 = vec4f();
        var t1 = vec4f();
        var t2 = vec4f();
        var t3 = vec4f();
        for (var k = start; k < end;) {  // parts of k add up alone, then to the total
            let stop = min(k + 256u, end);
            var p0 = vec4f();
            var p1 = vec4f();
            var p2 = vec4f();
            var p3 = vec4f();
            for (; k < stop; k += 4u) {
                let a0 = x_edge(x0, k);
                let a1 = x_edge(x1, k + 1u - X_APART);
                let a2 = x_edge(x2, k + 2u - 2u * X_APART);
                let a3 = x_edge(x3, k + 3u - 3u * X_APART);
                let c0 = y_edge(y0, k);
                let c1 = y_edge(y1, k + 1u - Y_APART);
                let c2 = y_edge(y2, k + 2u - 2u * Y_APART);
                let c3 = y_edge(y3, k + 3u - 3u * Y_APART);
                let b0 = select(c0, vec4f(c0.x, c1.x, c2.x, c3.x), Y_ALONG_K);
                let b1 = select(c1, vec4f(c0.y, c1.y, c2.y, c3.y), Y_ALONG_K);
                let b2 = select(c2, vec4f(c0.z, c1.z, c2.z, c3.z), Y_ALONG_K);
                let b3 = select(c3, vec4f(c0.w, c1.w, c2.w, c3.w), Y_ALONG_K);
                if X_ALONG_K {
                    p0 += a0.x * b0 + a0.y * b1 + a0.z * b2 + a0.w * b3;
                    p1 += a1.x * b0 + a1.y * b1 + a1.z * b2 + a1.w * b3;
                    p2 += a2.x * b0 + a2.y * b1 + a2.z * b2 + a2.w * b3;
                    p3 += a3.x * b0 + a3.y * b1 + a3.z * b2 + a3.w * b3;
                } else {
                    p0 += a0.x * b0 + a1.x * b1 + a2.x * b2 + a3.x * b3;
                    p1 += a0.y * b0 + a1.y * b1 + a2.y * b2 + a3.y * b3;
                    p2 += a0.z * b0 + a1.z * b1 + a2.z * b2 + a3.z * b3;
                    p3 += a0.w * b0 + a1.w * b1 + a2.w * b2 + a3.w * b3;
                }
            }
            t0 += p0;
            t1 += p1;
            t2 += p2;
            t3 += p3;
        }
        keep(z, row, col, t0);
        keep(z, row + 1u, col, t1);
        keep(z, row + 2u, col, t2);
        keep(z, row + 3u, col, t3);
    }
}
