// Copies quads `begin` to `end` of one buffer into another. A few workgroups keep a bus busy and
// leave the rest of a GPU to the kernel beside them.
//
// launch: begin end

@group(0) @binding(0) var<storage, read> source: array<vec4u>;
@group(0) @binding(1) var<storage, read_write> goal: array<vec4u>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) thread: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let step = groups.x * 256u;
    for (var i = launch.begin + thread.x; i < launch.end; i += step) {
        goal[i] = source[i];
    }
}
