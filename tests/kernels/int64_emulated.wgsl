// i * 3 + 1: mul+add
struct Launch { count: u32, n1_i64_low: u32, n1_i64_high: u32, n3_i64_low: u32, n3_i64_high: u32 }
var<immediate> launch: Launch;
fn i64_mul(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let low = wide_mul(x.x, y.x);
    return vec2<u32>(low.x, low.y + x.x * y.y + x.y * y.x);
}
fn i64_add(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let low = x.x + y.x;
    return vec2<u32>(low, x.y + y.y + select(0u, 1u, low < x.x));
}
fn wide_mul(x: u32, y: u32) -> vec2<u32> {
    let a = x & 0xffffu;
    let b = x >> 16u;
    let c = y & 0xffffu;
    let d = y >> 16u;
    let ac = a * c;
    let ad = a * d + (ac >> 16u);
    let bc = b * c + (ad & 0xffffu);
    return vec2<u32>(x * y, b * d + (ad >> 16u) + (bc >> 16u));
}
@group(0) @binding(0) var<storage, read> b0: array<vec2<u32>>;
fn mul_int64(input: vec2<u32>, other: vec2<u32>) -> vec2<u32> { return i64_mul(input, other); }
fn add_int64(input: vec2<u32>, other: vec2<u32>) -> vec2<u32> { return i64_add(input, other); }
fn lane(x0: vec2<u32>) -> vec2<u32> {
    let v0 = mul_int64(x0, vec2<u32>(launch.n1_i64_low, launch.n1_i64_high));
    let v1 = add_int64(v0, vec2<u32>(launch.n3_i64_low, launch.n3_i64_high));
    return v1;
}
@group(0) @binding(1) var<storage, read_write> b1: array<vec2<u32>>;
fn compute(q: u32) {
    let i = q * 4u;
    let r0 = lane(b0[q * 4u + 0u]);
    let r1 = lane(b0[q * 4u + 1u]);
    let r2 = lane(b0[q * 4u + 2u]);
    let r3 = lane(b0[q * 4u + 3u]);
    b1[q * 4u + 0u] = r0;
    b1[q * 4u + 1u] = r1;
    b1[q * 4u + 2u] = r2;
    b1[q * 4u + 3u] = r3;
}
const PER_CALL = 1u;

// Runs `compute(i)` at every index, or once for PER_CALL of them. Fusion writes `compute`, its
// loads and its stores.
//
// expects: PER_CALL, fn compute(i: u32)   and   launch.count = how many indices

const GROUP = 256u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i * PER_CALL < launch.count; i += groups.x * GROUP) { compute(i); }
}
