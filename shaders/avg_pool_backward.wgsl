// What each element gets back from the windows it was in: their gradients, divided as they were.
//
// launch: height width out_height out_width size_y size_x step_y step_x pad_y pad_x counts_pad divisor:f32
// expects: grad_output_nth(i), planes x out_height x out_width

fn value_at(i: u32) -> T {
    let x = i % launch.width + launch.pad_x;
    let rows = i / launch.width;
    let y = rows % launch.height + launch.pad_y;
    let plane = rows / launch.height * launch.out_height;
    let first_y = (max(y + 1u, launch.size_y) - launch.size_y + launch.step_y - 1u) / launch.step_y;
    let first_x = (max(x + 1u, launch.size_x) - launch.size_x + launch.step_x - 1u) / launch.step_x;
    let last_y = min(y / launch.step_y, launch.out_height - 1u);
    let last_x = min(x / launch.step_x, launch.out_width - 1u);
    var total = T(0);
    for (var oy = first_y; oy <= last_y; oy++) {
        let wide_y = pool_span(oy, launch.step_y, launch.pad_y, launch.size_y, launch.height);
        for (var ox = first_x; ox <= last_x; ox++) {
            let wide_x = pool_span(ox, launch.step_x, launch.pad_x, launch.size_x, launch.width);
            let value = grad_output_nth((plane + oy) * launch.out_width + ox);
            total += value / T(pool_divisor(wide_y, wide_x, launch.counts_pad, launch.divisor));
        }
    }
    return total;
}
