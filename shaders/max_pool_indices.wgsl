// Where in its plane the largest element of each window is.
//
// launch: width out_height out_width size_x step_y step_x pad_y:i32 pad_x:i32 apart_y apart_x
// expects: places_nth(i)

fn value_at(i: u32) -> T {
    let place = u32(places_nth(i));
    let x0 = i32(i % launch.out_width * launch.step_x) - launch.pad_x;
    let y0 = i32(i / launch.out_width % launch.out_height * launch.step_y) - launch.pad_y;
    let y = y0 + i32(place / launch.size_x * launch.apart_y);
    let x = x0 + i32(place % launch.size_x * launch.apart_x);
    return result_of(y * i32(launch.width) + x);
}
