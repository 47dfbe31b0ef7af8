// result[b] = x[b] @ y[b] in any type, one element per thread: for dtypes that are not computed as
// f32, whose products nobody waits for.
//
// launch: m n k count inner x_offset x_far x_near x_step x_k y_offset y_far y_near y_step y_k
// expects: T, x_at(place), y_at(place), multiply_add(total, a, b), keep(i, value)

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < launch.count; i += groups.x * GROUP) {
        let col = i % launch.n;
        let row = i / launch.n % launch.m;
        let batch = i / launch.n / launch.m;
        let far = batch / launch.inner;
        let near = batch % launch.inner;
        var x = launch.x_offset + far * launch.x_far + near * launch.x_near + row * launch.x_step;
        var y = launch.y_offset + far * launch.y_far + near * launch.y_near + col * launch.y_step;
        var total = T();
        for (var k = 0u; k < launch.k; k++) {
            total = multiply_add(total, x_at(x), y_at(y));
            x += launch.x_k;
            y += launch.y_k;
        }
        keep(i, total);
    }
}
