// The largest of each window of planes of rows.
//
// launch: height width out_height out_width size_y size_x step_y step_x pad_y:i32 pad_x:i32 apart_y apart_x
// expects: input_nth(i), planes x height x width; PADDED (whether a window may reach over an end)

fn value_at(i: u32) -> T {
    let rows = div_u32(i, launch.out_width);
    let planes = div_u32(rows, launch.out_height);
    let x0 = i32((i - rows * launch.out_width) * launch.step_x) - launch.pad_x;
    let y0 = i32((rows - planes * launch.out_height) * launch.step_y) - launch.pad_y;
    let plane = planes * launch.height;
    var most: T;
    var is_first = true;
    for (var ky = 0u; ky < launch.size_y; ky++) {
        let y = y0 + i32(ky * launch.apart_y);
        if PADDED && (y < 0 || y >= i32(launch.height)) { continue; }
        for (var kx = 0u; kx < launch.size_x; kx++) {
            let x = x0 + i32(kx * launch.apart_x);
            if PADDED && (x < 0 || x >= i32(launch.width)) { continue; }
            let value = input_nth((plane + u32(y)) * launch.width + u32(x));
            if is_first || above_t(most, value) { most = value; }
            is_first = false;
        }
    }
    return most;
}
