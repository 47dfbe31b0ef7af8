// (x * y).sum(): sum<mul>
struct Launch { units: u32, cols: u32, outer: u32, span: u32, rows: u32, splits: u32 }
var<immediate> launch: Launch;
fn turns(n: u32) -> u32 { return max(8u, 1u << ((32u - countLeadingZeros(n)) / 2u)); }
const GROUP = 16u;
const STEP = 8u;
const NESTED = false;
struct Base { first: u32, p0: u32 }
fn base(unit: u32) -> Base {
    return Base(0u, 0u);
}
fn reach(at: Base, outer: u32) -> Base {
    return Base(outer * launch.cols, at.p0);
}
alias T = f32;
alias A = T;
fn enter(x: T, index: u32) -> A { return x; }
fn nothing() -> A { return f32(0); }
fn combine(a: A, b: A) -> A { return a + b; }
@group(0) @binding(0) var<storage, read> b0: array<vec4<u64>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<u64>>;
fn mul_float32(input: f32, other: f32) -> f32 { return input * other; }
fn element(x0: f32, x1: f32) -> f32 {
    let v0 = mul_float32(x0, x1);
    return v0;
}
fn take(at: Base, col: u32) -> S {
    let p0 = (at.p0 + col) / 8u;
    let q0 = b0[p0];
    let q0_even = bitcast<vec4<f32>>(vec4<u32>(q0));
    let q0_odd = bitcast<vec4<f32>>(vec4<u32>(q0 >> vec4<u32>(32u)));
    let p1 = (at.p0 + col) / 8u;
    let q1 = b1[p1];
    let q1_even = bitcast<vec4<f32>>(vec4<u32>(q1));
    let q1_odd = bitcast<vec4<f32>>(vec4<u32>(q1 >> vec4<u32>(32u)));
    let r0 = element(q0_even.x, q1_even.x);
    let r1 = element(q0_odd.x, q1_odd.x);
    let r2 = element(q0_even.y, q1_even.y);
    let r3 = element(q0_odd.y, q1_odd.y);
    let r4 = element(q0_even.z, q1_even.z);
    let r5 = element(q0_odd.z, q1_odd.z);
    let r6 = element(q0_even.w, q1_even.w);
    let r7 = element(q0_odd.w, q1_odd.w);
    let e0 = enter(r0, at.first + col);
    let e1 = enter(r1, at.first + col + 1u);
    let e2 = enter(r2, at.first + col + 2u);
    let e3 = enter(r3, at.first + col + 3u);
    let e4 = enter(r4, at.first + col + 4u);
    let e5 = enter(r5, at.first + col + 5u);
    let e6 = enter(r6, at.first + col + 6u);
    let e7 = enter(r7, at.first + col + 7u);
    return combine(combine(combine(e0, e1), combine(e2, e3)), combine(combine(e4, e5), combine(e6, e7)));
}
const MANY = 4u;
fn take_many(at: Base, col: u32) -> S {
    return join(join(take(at, col + 0u * STEP), take(at, col + 1u * STEP)), join(take(at, col + 2u * STEP), take(at, col + 3u * STEP)));
}
alias S = A;
fn start() -> S { return nothing(); }
fn join(s: S, t: S) -> S { return combine(s, t); }
fn leave0(a: A) -> f32 { return a; }
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
fn finish(unit: u32, split: u32, s: S) {
    {
    b2[unit] = leave0(s);
    }
}

// Folds columns into rows, no thread waiting for another: one takes a row (or four), or a split of it.
//
// launch: units cols outer span rows splits
// expects: STEP, NESTED, GROUP; Base, base, reach; S, start, take, join, finish; MANY, take_many,
//          which takes so many steps at once
//
// Steps join in groups, and those in groups of groups: sums of many equal numbers stay exact.

fn take_all(at: Base, begin: u32, last: u32) -> S {
    const TURN = MANY * STEP;
    let most = turns(last / TURN - begin / TURN) * TURN;
    var s = start();
    var col = begin;
    while col + (TURN - STEP) < last {
        let stop = min(col + most, last);
        var t = start();
        for (; col + (TURN - STEP) < stop; col += TURN) { t = join(t, take_many(at, col)); }
        s = join(s, t);
    }
    for (; col < last; col += STEP) { s = join(s, take(at, col)); }
    return s;
}

// A split is a part of the outer axis where there is one, else of the columns.
fn take_split(row: Base, begin: u32, end: u32) -> S {
    if !NESTED { return take_all(reach(row, 0u), begin, min(end, launch.cols)); }
    let outers = min(end, launch.outer);
    let most = turns(outers - min(begin, outers));
    var s = start();
    for (var outer = begin; outer < outers;) {
        let stop = min(outer + most, outers);
        var t = start();
        for (; outer < stop; outer++) {
            t = join(t, take_all(reach(row, outer), 0u, launch.cols));
        }
        s = join(s, t);
    }
    return s;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let all = launch.units * launch.splits;
    for (var thread = id.x; thread < all; thread += groups.x * GROUP) {
        let split = thread / launch.units;
        let unit = thread - split * launch.units;
        let begin = split * launch.span;
        finish(unit, split, take_split(base(unit), begin, begin + launch.span));
    }
}
