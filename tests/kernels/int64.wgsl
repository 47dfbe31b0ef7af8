// i * 3 + 1: mul+add
struct Launch { count: u32, n1_i64_low: u32, n1_i64_high: u32, n3_i64_low: u32, n3_i64_high: u32 }
var<immediate> launch: Launch;
fn i64_of_words(words: vec2<u32>) -> i64 {
    return (i64(words.y) << 32u) | (i64(words.x) & 0xffffffffli);  // naga extends the sign of a u32
}
@group(0) @binding(0) var<storage, read> b0: array<i64>;
fn mul_int64(input: i64, other: i64) -> i64 { return input * other; }
fn add_int64(input: i64, other: i64) -> i64 { return input + other; }
fn lane(x0: i64) -> i64 {
    let v0 = mul_int64(x0, i64_of_words(vec2<u32>(launch.n1_i64_low, launch.n1_i64_high)));
    let v1 = add_int64(v0, i64_of_words(vec2<u32>(launch.n3_i64_low, launch.n3_i64_high)));
    return v1;
}
@group(0) @binding(1) var<storage, read_write> b1: array<i64>;
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
