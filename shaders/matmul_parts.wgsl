// The sum of products that each ran along a part of k; finished, and stored by whole words.
//
// launch: m n batches parts quads last
// expects: share_load(place) of the partial products; origin(i), the batch, row and column that
//          element i of the result comes from; finish; store4(quad, values)

const GROUP = 64u;

fn place_at(i: u32) -> u32 {
    let at = origin(min(i, launch.last));
    return (at.x * launch.m + at.y) * launch.n + at.z;
}

fn finished(i: u32, total: f32) -> f32 {
    let at = origin(min(i, launch.last));
    return finish(at.x, at.y, at.z, total);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var q = id.x; q < launch.quads; q += groups.x * GROUP) {
        let i = q * 4u;
        var at = vec4u(place_at(i), place_at(i + 1u), place_at(i + 2u), place_at(i + 3u));
        var total: vec4f;
        for (var p = 0u; p < launch.parts; p++) {
            total += vec4f(
                share_load(at.x), share_load(at.y), share_load(at.z), share_load(at.w)
            );
            at += launch.batches * launch.m * launch.n;
        }
        store4(q, vec4f(
            finished(i, total.x), finished(i + 1u, total.y),
            finished(i + 2u, total.z), finished(i + 3u, total.w)
        ));
    }
}
