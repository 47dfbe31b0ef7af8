// Does rows one after the other in each thread; no thread waits for another.
//
// expects: GROUP, STEP; V, own_sum, own_max; Base, base; fn do_row(row: Base)

var<private> unit: u32;  // the row, or quad of rows

fn steps() -> u32 { return (launch.cols + STEP - 1u) / STEP * launch.outer; }
fn step_of(k: u32) -> u32 { return k; }
fn all_sum(v: V) -> V { return own_sum(v); }
fn all_max(v: V) -> V { return own_max(v); }

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (unit = id.x; unit < launch.units; unit += groups.x * GROUP) { do_row(base(unit)); }
}
