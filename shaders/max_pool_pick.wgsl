// The element of each window that was the largest of another tensor's window.
//
// launch: height width out_height out_width size_x step_y step_x pad_y:i32 pad_x:i32 apart_y apart_x
// expects: input_nth(i), planes x height x width; places_nth(i)

fn value_at(i: u32) -> T {
    let place = u32(places_nth(i));
    let rows = i / launch.out_width;
    let x0 = i32(i % launch.out_width * launch.step_x) - launch.pad_x;
    let y0 = i32(rows % launch.out_height * launch.step_y) - launch.pad_y;
    let y = u32(y0 + i32(place / launch.size_x * launch.apart_y));
    let x = u32(x0 + i32(place % launch.size_x * launch.apart_x));
    return input_nth((rows / launch.out_height * launch.height + y) * launch.width + x);
}
