// Where in its plane the largest element of each even window is.
//
// launch: height width out_height out_width
// expects: input_nth(i), planes x height x width

fn value_at(i: u32) -> T {
    let rows = i / launch.out_width;
    let oy = rows % launch.out_height;
    let ox = i % launch.out_width;
    let plane = rows / launch.out_height * launch.height;
    let x0 = even_begin(ox, launch.width, launch.out_width);
    let y0 = even_begin(oy, launch.height, launch.out_height);
    var place = y0 * launch.width + x0;
    var most = input_nth(plane * launch.width + place);
    for (var y = y0; y < even_end(oy, launch.height, launch.out_height); y++) {
        for (var x = x0; x < even_end(ox, launch.width, launch.out_width); x++) {
            let value = input_nth((plane + y) * launch.width + x);
            if above_t(most, value) {
                most = value;
                place = y * launch.width + x;
            }
        }
    }
    return result_of(i32(place));
}
