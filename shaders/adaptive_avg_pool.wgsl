// The mean of windows that cover planes of rows evenly, each from floor(o n / m) to ceil((o + 1) n / m).
//
// launch: height width out_height out_width
// expects: input_nth(i), planes x height x width

fn value_at(i: u32) -> T {
    let rows = i / launch.out_width;
    let oy = rows % launch.out_height;
    let ox = i % launch.out_width;
    let plane = rows / launch.out_height * launch.height;
    let y1 = even_end(oy, launch.height, launch.out_height);
    let x0 = even_begin(ox, launch.width, launch.out_width);
    let x1 = even_end(ox, launch.width, launch.out_width);
    let y0 = even_begin(oy, launch.height, launch.out_height);
    var total = T(0);
    for (var y = y0; y < y1; y++) {
        for (var x = x0; x < x1; x++) { total += input_nth((plane + y) * launch.width + x); }
    }
    return total / T(f32((y1 - y0) * (x1 - x0)));
}
