// Puts what each window passes back where its largest element was; windows tile planes of rows.
//
// launch: count out_width size_y size_x
// expects: grad_output_nth(i), places_nth(i), planes x out_height x out_width; set_result

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let width = launch.out_width * launch.size_x;
    for (var o = id.x; o < launch.count; o += groups.x * 64u) {
        let row = div_u32(o, launch.out_width);
        let corner = row * launch.size_y * width + (o - row * launch.out_width) * launch.size_x;
        let place = u32(places_nth(o));
        let value = grad_output_nth(o);
        for (var y = 0u; y < launch.size_y; y++) {
            for (var x = 0u; x < launch.size_x; x++) {
                let mine = place == y * launch.size_x + x;
                set_result(corner + y * width + x, select(result_type(0), value, mine));
            }
        }
    }
}
