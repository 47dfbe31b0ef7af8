// The largest of each window of planes of rows, and which of the window's elements it is.
//
// launch: quads last height width out_height out_width size_y size_x step_y step_x pad_y:i32 pad_x:i32 apart_y apart_x
// expects: input_nth(i), planes x height x width; put__out, put_places; PADDED (whether a window may
//          reach over an end)

struct Found { value: input_type, place: u32 }

fn largest(i: u32) -> Found {
    let rows = div_u32(i, launch.out_width);
    let planes = div_u32(rows, launch.out_height);
    let x0 = i32((i - rows * launch.out_width) * launch.step_x) - launch.pad_x;
    let y0 = i32((rows - planes * launch.out_height) * launch.step_y) - launch.pad_y;
    let plane = planes * launch.height;
    var found: Found;
    var is_first = true;
    for (var ky = 0u; ky < launch.size_y; ky++) {
        let y = y0 + i32(ky * launch.apart_y);
        if PADDED && (y < 0 || y >= i32(launch.height)) { continue; }
        for (var kx = 0u; kx < launch.size_x; kx++) {
            let x = x0 + i32(kx * launch.apart_x);
            if PADDED && (x < 0 || x >= i32(launch.width)) { continue; }
            let value = input_nth((plane + u32(y)) * launch.width + u32(x));
            if is_first || above_t(found.value, value) {
                found = Found(value, ky * launch.size_x + kx);
                is_first = false;
            }
        }
    }
    return found;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var q = id.x; q < launch.quads; q += groups.x * 64u) {
        let a = largest(4u * q);
        let b = largest(min(4u * q + 1u, launch.last));
        let c = largest(min(4u * q + 2u, launch.last));
        let d = largest(min(4u * q + 3u, launch.last));
        put__out(q, a.value, b.value, c.value, d.value);
        put_places(q, i32(a.place), i32(b.place), i32(c.place), i32(d.place));
    }
}
