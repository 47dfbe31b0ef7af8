// tall.softmax(1): _softmax
struct Launch { units: u32, cols: u32, outer: u32, n3: u32 }
var<immediate> launch: Launch;
fn maximum_f32(x: f32, y: f32) -> f32 {
    let takes_y = ((order_f32(y) > order_f32(x)) | is_nan_f32(y)) & !is_nan_f32(x);
    return select(x, y, takes_y);
}
fn exp_f32(x: f32) -> f32 {
    let vanishes = x < -104.0;
    let result = exp_parts(select(min(x, 89.0), 0.0, vanishes), 0.0, 0);
    return select(select(result, 0.0, vanishes), x, is_nan_f32(x));
}
fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits); }  // a literal infinity does not compile
fn order_f32(x: f32) -> i32 {
    let size = bitcast<i32>(magnitude(x));
    return select(size, -size, signbit_f32(x));
}
fn is_nan_f32(x: f32) -> bool { return magnitude(x) > 0x7f800000u; }
fn exp_parts(x: f32, low: f32, shift: i32) -> f32 {
    let sum = rounding((x + low) * 1.442695);
    let n = rounded_f32(sum);
    let r = held_f32(x - n * 0.693145752) - (n * 1.4286068e-6 - low);
    let p = 0.49999994 + r * (0.16666517 + r * (0.04166828 + r * (0.008369249 + r * 0.0013820775)));
    return scale_near_one(1.0 + (r + r * r * p), rounded_i32(sum) + shift);
}
fn magnitude(x: f32) -> u32 { return bitcast<u32>(x) & 0x7fffffffu; }
fn signbit_f32(x: f32) -> bool { return (bitcast<u32>(x) >> 31u) != 0u; }
fn rounding(x: f32) -> f32 { return held_f32(x + 12582912.0); }
fn rounded_f32(sum: f32) -> f32 { return sum - 12582912.0; }
fn held_f32(x: f32) -> f32 { return min(x, 3.0e38); }
fn scale_near_one(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return bitcast<f32>(bitcast<u32>(x) + (bitcast<u32>(half) << 23u)) * pow2(n - half);
}
fn rounded_i32(sum: f32) -> i32 { return bitcast<i32>(sum) - 0x4b400000; }
fn pow2(n: i32) -> f32 { return bitcast<f32>(u32(n + 127) << 23u); }  // -126 <= n <= 127
const LANES = 32u;
const SIDE = 2u;
const GROUP = 64u;
const STEP = 4u;
alias V = vec4<f32>;
fn own_sum(v: V) -> V { return V(v.x + v.y + v.z + v.w); }
fn own_max(v: V) -> V { return V(maximum_f32(maximum_f32(v.x, v.y), maximum_f32(v.z, v.w))); }
struct Base { first: u32, p0: u32 }
fn base(unit: u32) -> Base {
    let i0 = unit;
    let c0 = i0;
    return Base(0u, c0 * launch.n3);
}
fn reach(at: Base, outer: u32) -> Base {
    return Base(outer * launch.cols, at.p0);
}
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
fn input_get(row: Base, k: u32) -> V {
    let i = step_of(k);
    let at = row;
    let col = i * STEP;
    let p0 = (at.p0 + col) / 4u;
    let q0_0 = b0[p0];
    return V(q0_0.x, q0_0.y, q0_0.z, q0_0.w);
}
@group(0) @binding(1) var<storage, read_write> result_words: array<vec4<f32>>;
fn result_put(row: Base, k: u32, v: V) {
    let i = step_of(k);
    let at = row;
    let col = i * STEP;
    result_words[((at.p0 + col) / 4u)] = vec4<f32>(v.x, v.y, v.z, v.w);
}
fn maximum_v(x: V, y: V) -> V { return V(maximum_f32(x.x, y.x), maximum_f32(x.y, y.y), maximum_f32(x.z, y.z), maximum_f32(x.w, y.w)); }
fn exp_v(x: V) -> V { return V(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w)); }

// Softmax of a row: exponentials of the distances from its largest, divided by their sum.

fn do_row(row: Base) {
    let count = steps();
    let input_0 = input_get(row, 0u);
    let input_1 = input_get(row, 1u);
    let input_2 = input_get(row, 2u);
    let input_3 = input_get(row, min(3u, count - 1u));
    var peak = V(float_of(0xff800000u));
    { peak = maximum_v(peak, input_0); }
    { peak = maximum_v(peak, input_1); }
    { peak = maximum_v(peak, input_2); }
    if 3u < count { peak = maximum_v(peak, input_3); }
    peak = all_max(peak);
    var total = V(0.0);
    {
        var part = V(0.0);
        { part += exp_v(input_0 - peak); }
        { part += exp_v(input_1 - peak); }
        { part += exp_v(input_2 - peak); }
        if 3u < count { part += exp_v(input_3 - peak); }
        total += part;
    }
    total = all_sum(total);
    {
        result_put(row, 0u, exp_v(input_0 - peak) / total);
    }
    {
        result_put(row, 1u, exp_v(input_1 - peak) / total);
    }
    {
        result_put(row, 2u, exp_v(input_2 - peak) / total);
    }
    if 3u < count {
        result_put(row, 3u, exp_v(input_3 - peak) / total);
    }
}

// Does rows with LANES threads for each, which read them once and keep them in registers.
//
// A workgroup has SIDE rows beside each other. What do_row did in loops is written out for it.
//
// expects: LANES, SIDE, GROUP (their product), STEP; V (four neighbours), own_sum, own_max;
//          Base, base; fn do_row(row: Base)

var<workgroup> shared_by_row: array<f32, GROUP>;
var<private> unit: u32;  // the row
var<private> lane: u32;
var<private> thread: u32;

fn steps() -> u32 { return (launch.cols / STEP - lane + LANES - 1u) / LANES; }
fn step_of(k: u32) -> u32 { return k * LANES + lane; }

fn all_sum(v: V) -> V {
    shared_by_row[thread] = own_sum(v).x;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half { shared_by_row[thread] += shared_by_row[thread + half]; }
    }
    workgroupBarrier();
    let total = shared_by_row[thread - lane];
    workgroupBarrier();
    return V(total);
}

fn all_max(v: V) -> V {
    shared_by_row[thread] = own_max(v).x;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            let other = shared_by_row[thread + half];
            shared_by_row[thread] = maximum_f32(shared_by_row[thread], other);
        }
    }
    workgroupBarrier();
    let most = shared_by_row[thread - lane];
    workgroupBarrier();
    return V(most);
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    thread = local;
    lane = local % LANES;
    let tiles = (launch.units + SIDE - 1u) / SIDE;
    for (var tile = block.x; tile < tiles; tile += blocks.x) {
        unit = min(tile * SIDE + local / LANES, launch.units - 1u);  // the last may be done twice
        do_row(base(unit));
    }
}

// tall.softmax(1): _fill
struct Launch { count: u32, n1: f32 }
var<immediate> launch: Launch;
fn _fill_float32(value: f32) -> f32 { return value; }
fn lane() -> f32 {
    let v0 = _fill_float32(launch.n1);
    return v0;
}
@group(0) @binding(0) var<storage, read_write> b0: array<vec4<f32>>;
fn compute(q: u32) {
    let i = q * 4u;
    let r0 = lane();
    let r1 = lane();
    let r2 = lane();
    let r3 = lane();
    b0[q] = vec4<f32>(r0, r1, r2, r3);
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
