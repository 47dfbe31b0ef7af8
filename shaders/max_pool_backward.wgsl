// What each element gets back from the windows in which it was the largest.
//
// launch: height width out_height out_width size_y size_x step_y step_x pad_y pad_x apart_y apart_x
// expects: grad_output_nth(i), places_nth(i), planes x out_height x out_width

fn value_at(i: u32) -> T {
    let x = i % launch.width + launch.pad_x;
    let rows = i / launch.width;
    let y = rows % launch.height + launch.pad_y;
    let plane = rows / launch.height * launch.out_height;
    let reach_y = (launch.size_y - 1u) * launch.apart_y;
    let reach_x = (launch.size_x - 1u) * launch.apart_x;
    let first_y = (max(y, reach_y) - reach_y + launch.step_y - 1u) / launch.step_y;
    let first_x = (max(x, reach_x) - reach_x + launch.step_x - 1u) / launch.step_x;
    let last_y = min(y / launch.step_y, launch.out_height - 1u);
    let last_x = min(x / launch.step_x, launch.out_width - 1u);
    var total = T(0);
    for (var oy = first_y; oy <= last_y; oy++) {
        let dy = y - oy * launch.step_y;
        if dy % launch.apart_y != 0u { continue; }
        for (var ox = first_x; ox <= last_x; ox++) {
            let dx = x - ox * launch.step_x;
            if dx % launch.apart_x != 0u { continue; }
            let place = dy / launch.apart_y * launch.size_x + dx / launch.apart_x;
            let o = (plane + oy) * launch.out_width + ox;
            if u32(places_nth(o)) == place { total += grad_output_nth(o); }
        }
    }
    return total;
}
