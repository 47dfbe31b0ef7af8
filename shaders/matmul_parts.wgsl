// The sum of products that each ran along a part of k; finished, and stored by whole words.
//
// launch: m n batches parts quads last
// expects: share_load(place) of the partial products; origin(i), the batch, row and column that
//          element i of the result comes from; finish; store4(quad, values)

const GROUP = 64u;

fn sum_at(i: u32) -> f32 {
    let at = origin(min(i, launch.last));
    let place = (at.x * launch.m + at.y) * launch.n + at.z;
    let apart = launch.batches * launch.m * launch.n;
    var total = 0.0;
    for (var p = 0u; p < launch.parts; p++) { total += share_load(p * apart + place); }
    return finish(at.x, at.y, at.z, total);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var q = id.x; q < launch.quads; q += groups.x * GROUP) {
        let i = q * 4u;
        store4(q, vec4f(sum_at(i), sum_at(i + 1u), sum_at(i + 2u), sum_at(i + 3u)));
    }
}
