// x.sum(1): sum<load>
struct Launch { units: u32, cols: u32, outer: u32, span: u32, rows: u32, splits: u32, n6: u32 }
var<immediate> launch: Launch;
fn turns(n: u32) -> u32 { return max(8u, 1u << ((32u - countLeadingZeros(n)) / 2u)); }
const LANES = 2u;
const SIDE = 128u;
const BY_ROW = false;
const STEP = 4u;
const NESTED = false;
struct Base { first: u32, p0: u32 }
fn base(unit: u32) -> Base {
    let i0 = unit;
    let c0 = i0;
    return Base(0u, c0 * launch.n6);
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
fn element(x0: f32) -> f32 {
    return x0;
}
fn take(at: Base, col: u32) -> S {
    let p0 = (at.p0 + col) / 4u;
    let q0_0 = b0[p0];
    let r0 = element(q0_0.x);
    let r1 = element(q0_0.y);
    let r2 = element(q0_0.z);
    let r3 = element(q0_0.w);
    let e0 = enter(r0, at.first + col);
    let e1 = enter(r1, at.first + col + 1u);
    let e2 = enter(r2, at.first + col + 2u);
    let e3 = enter(r3, at.first + col + 3u);
    return combine(combine(e0, e1), combine(e2, e3));
}
alias S = A;
fn start() -> S { return nothing(); }
fn join(s: S, t: S) -> S { return combine(s, t); }
fn leave0(a: A) -> f32 { return a; }
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
fn finish(unit: u32, split: u32, s: S) {
    {
    b1[unit] = leave0(s);
    }
}

// Folds columns into rows, LANES threads of a workgroup for each row (or four of them).
//
// launch: units cols outer span rows splits
// expects: STEP, NESTED, LANES, SIDE (rows beside each other, LANES * SIDE = GROUP), BY_ROW (whether
//          neighbouring threads have neighbouring rows); Base, base, reach; S, start, take, join,
//          finish

const GROUP = 256u;
var<workgroup> folded: array<S, GROUP>;

// Columns are counted in steps, through all of the outer axis.
fn take_at(row: Base, steps: u32, i: u32) -> S {
    if !NESTED { return take(row, i * STEP); }
    return take(reach(row, i / steps), i % steps * STEP);
}

// Steps join in groups, and those in groups of groups: sums of many equal numbers stay exact.
fn take_all(row: Base, steps: u32, begin: u32, end: u32) -> S {
    const TURN = 4u * LANES;
    let most = turns((end - min(begin, end)) / TURN) * TURN;
    var s = start();
    var i = begin;
    while i + 3u * LANES < end {
        let stop = min(i + most, end);
        var t = start();
        for (; i + 3u * LANES < stop; i += TURN) {
            let low = join(take_at(row, steps, i), take_at(row, steps, i + LANES));
            let high = join(
                take_at(row, steps, i + 2u * LANES), take_at(row, steps, i + 3u * LANES)
            );
            t = join(t, join(low, high));
        }
        s = join(s, t);
    }
    for (; i < end; i += LANES) { s = join(s, take_at(row, steps, i)); }
    return s;
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let lane = select(local % LANES, local / SIDE, BY_ROW);
    let side = select(local / LANES, local % SIDE, BY_ROW);
    let next = select(1u, SIDE, BY_ROW);
    let steps = (launch.cols + STEP - 1u) / STEP;
    let begin = block.y * launch.span + lane;
    let end = min(block.y * launch.span + launch.span, steps * launch.outer);
    let tiles = (launch.units + SIDE - 1u) / SIDE;
    for (var tile = block.x; tile < tiles; tile += blocks.x) {
        let unit = tile * SIDE + side;
        var s = start();
        if unit < launch.units { s = take_all(base(unit), steps, begin, end); }
        folded[local] = s;
        for (var half = LANES / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if lane < half { folded[local] = join(folded[local], folded[local + half * next]); }
        }
        if lane == 0u && unit < launch.units { finish(unit, block.y, folded[local]); }
        workgroupBarrier();
    }
}
