// (x * y).sum(): sum<mul>
struct Launch { units: u32, cols: u32, outer: u32, span: u32, rows: u32, splits: u32 }
var<immediate> launch: Launch;
const GROUP = 16u;
const STEP = 4u;
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
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
fn mul_float32(input: f32, other: f32) -> f32 { return input * other; }
fn lane(x0: f32, x1: f32) -> f32 {
    let v0 = mul_float32(x0, x1);
    return v0;
}
fn take(s: S, at: Base, col: u32) -> S {
    let p0 = (at.p0 + col) / 4u;
    let q0 = b0[p0];
    let p1 = (at.p0 + col) / 4u;
    let q1 = b1[p1];
    let r0 = lane(q0.x, q1.x);
    let r1 = lane(q0.y, q1.y);
    let r2 = lane(q0.z, q1.z);
    let r3 = lane(q0.w, q1.w);
    let e0 = enter(r0, at.first + col);
    let e1 = enter(r1, at.first + col + 1u);
    let e2 = enter(r2, at.first + col + 2u);
    let e3 = enter(r3, at.first + col + 3u);
    return combine(s, combine(combine(e0, e1), combine(e2, e3)));
}
const MANY = 8u;
fn take_many(s0: S, at: Base, col: u32) -> S {
    let s1 = take(s0, at, col + 0u * STEP);
    let s2 = take(s1, at, col + 1u * STEP);
    let s3 = take(s2, at, col + 2u * STEP);
    let s4 = take(s3, at, col + 3u * STEP);
    let s5 = take(s4, at, col + 4u * STEP);
    let s6 = take(s5, at, col + 5u * STEP);
    let s7 = take(s6, at, col + 6u * STEP);
    let s8 = take(s7, at, col + 7u * STEP);
    return s8;
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
// expects: STEP, NESTED, GROUP; Base, base, reach; S, start, take, finish; MANY, take_many, which
//          takes so many steps at once

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let all = launch.units * launch.splits;
    for (var thread = id.x; thread < all; thread += groups.x * GROUP) {
        let split = thread / launch.units;
        let unit = thread - split * launch.units;
        let row = base(unit);
        var s = start();
        // A split is a part of the outer axis where there is one, else of the columns.
        let begin = split * launch.span;
        let end = begin + launch.span;
        let outers = select(1u, min(end, launch.outer), NESTED);
        let last = select(min(end, launch.cols), launch.cols, NESTED);
        for (var outer = select(0u, begin, NESTED); outer < outers; outer++) {
            let at = reach(row, outer);
            var col = select(begin, 0u, NESTED);
            for (; col + (MANY - 1u) * STEP < last; col += MANY * STEP) {
                s = take_many(s, at, col);
            }
            for (; col < last; col += STEP) { s = take(s, at, col); }
        }
        finish(unit, split, s);
    }
}
