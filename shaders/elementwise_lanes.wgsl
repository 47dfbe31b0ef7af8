// elementwise.wgsl for a CPU: a workgroup is one vector of its lanes, which no other thread has to
// wait for, and walks a stretch of its own.
//
// expects: PER_CALL, fn compute(i: u32)   and   launch.count = how many indices

const GROUP = 8u;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let calls = (launch.count + PER_CALL - 1u) / PER_CALL;
    let stretch = ((calls - 1u) / (groups.x * GROUP) + 1u) * GROUP;
    let first = group.x * stretch;
    let end = min(first + stretch, calls);
    for (var i = first + thread; i < end; i += GROUP) { compute(i); }
}
