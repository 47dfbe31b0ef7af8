// What each element gets back from the windows in which it was the largest.
//
// launch: quads last height width out_height out_width size_y size_x step_y step_x pad_y pad_x apart_y apart_x
// expects: grad_output_nth(i), places_nth(i), planes x out_height x out_width; OVERLAP (whether an
//          element may be in several windows), DILATED

// The first window that reaches position v.
fn first(v: u32, size: u32, apart: u32, step: u32) -> u32 {
    let reach = (size - 1u) * apart;
    return div_u32(max(v, reach) - reach + step - 1u, step);
}

fn share(i: u32) -> result_type {
    let rows = div_u32(i, launch.width);
    let planes = div_u32(rows, launch.height);
    let x = i - rows * launch.width + launch.pad_x;
    let y = rows - planes * launch.height + launch.pad_y;
    let last_y = div_u32(y, launch.step_y);
    let last_x = div_u32(x, launch.step_x);
    var oy = last_y;
    var ox0 = last_x;
    if OVERLAP {
        oy = first(y, launch.size_y, launch.apart_y, launch.step_y);
        ox0 = first(x, launch.size_x, launch.apart_x, launch.step_x);
    }
    var total = result_type(0);
    for (; oy <= min(last_y, launch.out_height - 1u); oy++) {
        for (var ox = ox0; ox <= min(last_x, launch.out_width - 1u); ox++) {
            var ky = y - oy * launch.step_y;
            var kx = x - ox * launch.step_x;
            if DILATED {
                if ky % launch.apart_y != 0u || kx % launch.apart_x != 0u { continue; }
                ky /= launch.apart_y;
                kx /= launch.apart_x;
            }
            if kx >= launch.size_x { continue; }  // in a gap between windows
            let o = (planes * launch.out_height + oy) * launch.out_width + ox;
            if u32(places_nth(o)) == ky * launch.size_x + kx { total += grad_output_nth(o); }
        }
    }
    return total;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var q = id.x; q < launch.quads; q += groups.x * 64u) {
        let a = share(4u * q);
        let b = share(min(4u * q + 1u, launch.last));
        let c = share(min(4u * q + 2u, launch.last));
        put_result(q, a, b, c, share(min(4u * q + 3u, launch.last)));
    }
}
