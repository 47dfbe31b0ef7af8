// Computes and hardly reads: so many turns of sixteen fused multiply-adds. How long it takes says
// how fast a GPU is; it stands for a network where copies are tried beside one.
//
// launch: turns

@group(0) @binding(0) var<storage, read_write> sink: array<vec4f>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) t: u32) {
    var a = vec4f(f32(t));
    var b = vec4f(1.0);
    var c = vec4f(0.5);
    var d = vec4f(0.25);
    for (var k = 0u; k < launch.turns; k++) {
        a = fma(a, vec4f(0.999), b);
        b = fma(b, vec4f(0.999), c);
        c = fma(c, vec4f(0.999), d);
        d = fma(d, vec4f(0.999), a);
    }
    sink[(group.x * 256u + t) & 1023u] = a + b + c + d;
}
