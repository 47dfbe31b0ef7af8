// What each element gets back from the even windows it was in.
//
// launch: height width out_height out_width
// expects: grad_output_nth(i), planes x out_height x out_width

fn value_at(i: u32) -> T {
    let rows = i / launch.width;
    let y = rows % launch.height;
    let x = i % launch.width;
    let plane = rows / launch.height * launch.out_height;
    var total = T(0);
    for (var oy = even_begin(y, launch.out_height, launch.height); oy < launch.out_height; oy++) {
        let y0 = even_begin(oy, launch.height, launch.out_height);
        let y1 = even_end(oy, launch.height, launch.out_height);
        if y0 > y { break; }
        for (var ox = even_begin(x, launch.out_width, launch.width); ox < launch.out_width; ox++) {
            let x0 = even_begin(ox, launch.width, launch.out_width);
            let x1 = even_end(ox, launch.width, launch.out_width);
            if x0 > x { break; }
            let value = grad_output_nth((plane + oy) * launch.out_width + ox);
            if y < y1 && x < x1 { total += value / T(f32((y1 - y0) * (x1 - x0))); }
        }
    }
    return total;
}
