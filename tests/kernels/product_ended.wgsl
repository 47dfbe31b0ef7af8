// (x @ y.T + column).relu(): mm
struct Launch { m: u32, n: u32, k: u32, batches: u32, parts: u32, k_part: u32, tiles: u32, inner: u32, x_offset: u32, x_far: u32, x_near: u32, x_step: u32, x_k: u32, y_offset: u32, y_far: u32, y_near: u32, y_step: u32, y_k: u32 }
var<immediate> launch: Launch;
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
fn x_load4(place: u32) -> vec4f {
    return x[place >> 2u];
}
const X_ALONG_K = true;

alias X_PLACE = u32;
fn x_place(batch: u32, i: u32) -> u32 {
    return launch.x_offset + batch / launch.inner * launch.x_far + batch % launch.inner * launch.x_near + min(i, launch.m - 1u) * launch.x_step;
}
fn x_quad(place: u32, k: u32) -> vec4f {
    return x_load4(place + k);
}
fn x_edge(place: u32, k: u32) -> vec4f {
    return select(vec4f(), x_load4(place + min(k, launch.k - 4u)), k < launch.k);
}

@group(0) @binding(1) var<storage, read> y: array<vec4f>;
fn y_load4(place: u32) -> vec4f {
    return y[place >> 2u];
}
const Y_ALONG_K = true;

alias Y_PLACE = u32;
fn y_place(batch: u32, i: u32) -> u32 {
    return launch.y_offset + batch / launch.inner * launch.y_far + batch % launch.inner * launch.y_near + min(i, launch.n - 1u) * launch.y_step;
}
fn y_quad(place: u32, k: u32) -> vec4f {
    return y_load4(place + k);
}
fn y_edge(place: u32, k: u32) -> vec4f {
    return select(vec4f(), y_load4(place + min(k, launch.k - 4u)), k < launch.k);
}

fn place_of(z: u32, row: u32, col: u32) -> u32 {
    return (z * launch.m + row) * launch.n + col;
}
fn origin(i: u32) -> vec3u {
    let line = i / launch.n;
    return vec3u(line / launch.m, line % launch.m, i % launch.n);
}
fn finish(z: u32, row: u32, col: u32, x: f32) -> f32 { return x; }

fn keep(z: u32, row: u32, col: u32, v: vec4f) {
    if row >= launch.m || col >= launch.n { return; }
    store4(place_of(z, row, col) >> 2u, vec4f(
        finish(z, row, col, v.x), finish(z, row, col + 1u, v.y),
        finish(z, row, col + 2u, v.z), finish(z, row, col + 3u, v.w)
    ));
}

const APART = false;
@group(0) @binding(2) var<storage, read_write> result: array<vec4f>;
fn store4(q: u32, v: vec4f) { result[q] = v; }

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

// (x @ y.T + column).relu(): mm+add+relu
struct Launch { m: u32, n: u32, k: u32, batches: u32, parts: u32, k_part: u32, tiles: u32, inner: u32, x_offset: u32, x_far: u32, x_near: u32, x_step: u32, x_k: u32, y_offset: u32, y_far: u32, y_near: u32, y_step: u32, y_k: u32, n18: u32, n19: u32, n20: u32, n21: u32 }
var<immediate> launch: Launch;
fn relu_f32(x: f32) -> f32 {
    return select(x, 0.0, bitcast<u32>(x) - 0x80000001u < 0x7f800000u);
}
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
fn x_load4(place: u32) -> vec4f {
    return x[place >> 2u];
}
const X_ALONG_K = true;

alias X_PLACE = u32;
fn x_place(batch: u32, i: u32) -> u32 {
    return launch.x_offset + batch / launch.inner * launch.x_far + batch % launch.inner * launch.x_near + min(i, launch.m - 1u) * launch.x_step;
}
fn x_quad(place: u32, k: u32) -> vec4f {
    return x_load4(place + k);
}
fn x_edge(place: u32, k: u32) -> vec4f {
    return select(vec4f(), x_load4(place + min(k, launch.k - 4u)), k < launch.k);
}

@group(0) @binding(1) var<storage, read> y: array<vec4f>;
fn y_load4(place: u32) -> vec4f {
    return y[place >> 2u];
}
const Y_ALONG_K = true;

alias Y_PLACE = u32;
fn y_place(batch: u32, i: u32) -> u32 {
    return launch.y_offset + batch / launch.inner * launch.y_far + batch % launch.inner * launch.y_near + min(i, launch.n - 1u) * launch.y_step;
}
fn y_quad(place: u32, k: u32) -> vec4f {
    return y_load4(place + k);
}
fn y_edge(place: u32, k: u32) -> vec4f {
    return select(vec4f(), y_load4(place + min(k, launch.k - 4u)), k < launch.k);
}

fn place_of(z: u32, row: u32, col: u32) -> u32 {
    return (z * launch.m + row) * launch.n + col;
}
fn origin(i: u32) -> vec3u {
    let line = i / launch.n;
    return vec3u(line / launch.m, line % launch.m, i % launch.n);
}
fn finish(z: u32, row: u32, col: u32, x: f32) -> f32 { return x; }

fn keep(z: u32, row: u32, col: u32, v: vec4f) {
    if row >= launch.m || col >= launch.n { return; }
    store4(place_of(z, row, col) >> 2u, vec4f(
        finish(z, row, col, v.x), finish(z, row, col + 1u, v.y),
        finish(z, row, col + 2u, v.z), finish(z, row, col + 3u, v.w)
    ));
}

const APART = false;
@group(0) @binding(2) var<storage, read> b2: array<f32>;
fn place0(i: u32) -> u32 { return launch.n18 + i / launch.n19 % launch.n20 * launch.n21; }
fn add_float32(input: f32, other: f32) -> f32 { return input + other; }
fn relu_float32(input: f32) -> f32 { return relu_f32(input); }
fn lane(x0: f32, x1: f32) -> f32 {
    let v0 = add_float32(x0, x1);
    let v1 = relu_float32(v0);
    return v1;
}
@group(0) @binding(3) var<storage, read_write> b3: array<vec2<u64>>;
fn store4(q: u32, v: vec4f) {
    let i = q * 4u;
    let p1 = place0(i);
    let e1 = b2[p1];
    let r0 = lane(v.x, e1);
    let r1 = lane(v.y, e1);
    let r2 = lane(v.z, e1);
    let r3 = lane(v.w, e1);
    b3[q] = vec2<u64>(bitcast<vec2<u32>>(vec2<f32>(r0, r2))) | (vec2<u64>(bitcast<vec2<u32>>(vec2<f32>(r1, r3))) << vec2<u32>(32u));
}

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
