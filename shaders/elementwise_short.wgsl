// Runs `compute(i)` for every MANY quads: elements are short, and sixteen bytes are best at once.
//
// expects: fn compute(i: u32), MANY   and   launch.count = how many quads

const GROUP = 256u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i * MANY < launch.count; i += groups.x * GROUP) { compute(i); }
}
