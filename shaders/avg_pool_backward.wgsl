// What each element gets back from the windows it was in: their gradients, divided as they were.
//
// launch: height width out_height out_width size_y size_x step_y step_x pad_y pad_x counts_pad divisor:f32
// expects: grad_output_nth(i), planes x out_height x out_width

// The first window that reaches position v.
fn first(v: u32, size: u32, step: u32) -> u32 {
    return div_u32(max(v + 1u, size) - size + step - 1u, step);
}

fn value_at(i: u32) -> T {
    let rows = div_u32(i, launch.width);
    let planes = div_u32(rows, launch.height);
    let x = i - rows * launch.width + launch.pad_x;
    let y = rows - planes * launch.height + launch.pad_y;
    let last_y = min(div_u32(y, launch.step_y), launch.out_height - 1u);
    let last_x = min(div_u32(x, launch.step_x), launch.out_width - 1u);
    var total = T(0);
    for (var oy = first(y, launch.size_y, launch.step_y); oy <= last_y; oy++) {
        let wide_y = pool_span(oy, launch.step_y, launch.pad_y, launch.size_y, launch.height);
        for (var ox = first(x, launch.size_x, launch.step_x); ox <= last_x; ox++) {
            let wide_x = pool_span(ox, launch.step_x, launch.pad_x, launch.size_x, launch.width);
            let value = grad_output_nth((planes * launch.out_height + oy) * launch.out_width + ox);
            let size = pool_divisor(wide_y, wide_x, launch.counts_pad, launch.divisor);
            total += value / T(size);
        }
    }
    return total;
}
