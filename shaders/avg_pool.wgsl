// The sum of each window of planes of rows, divided by its size.
//
// launch: height width out_height out_width size_y size_x step_y step_x pad_y pad_x counts_pad divisor:f32
// expects: input_nth(i), planes x height x width

fn value_at(i: u32) -> T {
    let rows = div_u32(i, launch.out_width);
    let planes = div_u32(rows, launch.out_height);
    let oy = rows - planes * launch.out_height;
    let ox = i - rows * launch.out_width;
    let y = pool_span(oy, launch.step_y, launch.pad_y, launch.size_y, launch.height);
    let x = pool_span(ox, launch.step_x, launch.pad_x, launch.size_x, launch.width);
    var total = T(0);
    for (var iy = y.begin; iy < y.end; iy++) {
        for (var ix = x.begin; ix < x.end; ix++) {
            total += input_nth((planes * launch.height + iy) * launch.width + ix);
        }
    }
    return total / T(pool_divisor(y, x, launch.counts_pad, launch.divisor));
}
