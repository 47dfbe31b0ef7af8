// y of a transposed convolution as a product: for each element that windows saw, the places of the
// window from which a tap met it.
//
// launch: y_offset y_group y_image y_channel y_row y_col height width
//         pixels pixels_inverse:f32 pixels_across pixels_across_inverse:f32
//         taps taps_inverse:f32 taps_across taps_across_inverse:f32
//         stride_row stride_row_inverse:f32 stride_col stride_col_inverse:f32
//         padding_row padding_col dilation_row dilation_col
// expects: y_load

const Y_ALONG_K = false;

struct Y_PLACE { place: vec4u, row: vec4u, col: vec4u }

fn y_place(group: u32, col: u32) -> Y_PLACE {
    let start = launch.y_offset + group * launch.y_group;
    var at: Y_PLACE;
    for (var j = 0u; j < 4u; j++) {
        let i = min(col + j, launch.n - 1u);
        let image = quotient(i, launch.pixels, launch.pixels_inverse);
        let inside = i - image * launch.pixels;
        let row = quotient(inside, launch.pixels_across, launch.pixels_across_inverse);
        at.place[j] = start + image * launch.y_image;
        at.row[j] = row + launch.padding_row;
        at.col[j] = inside - row * launch.pixels_across + launch.padding_col;
    }
    return at;
}

fn gather(at: Y_PLACE, k: u32, valid: bool) -> vec4f {
    let channel = quotient(k, launch.taps, launch.taps_inverse);
    let tap = k - channel * launch.taps;
    let tap_row = quotient(tap, launch.taps_across, launch.taps_across_inverse);
    let tap_col = tap - tap_row * launch.taps_across;
    let rows = at.row - tap_row * launch.dilation_row;  // before the first: wraps, a large number
    let cols = at.col - tap_col * launch.dilation_col;
    let row = quotients(rows, launch.stride_row, launch.stride_row_inverse);
    let col = quotients(cols, launch.stride_col, launch.stride_col_inverse);
    let inside = (row < vec4u(launch.height)) & (col < vec4u(launch.width))
        & (row * launch.stride_row == rows) & (col * launch.stride_col == cols) & vec4<bool>(valid);
    let place = at.place + channel * launch.y_channel + row * launch.y_row + col * launch.y_col;
    let p = select(vec4u(), place, inside);
    return select(vec4f(), vec4f(y_load(p.x), y_load(p.y), y_load(p.z), y_load(p.w)), inside);
}

fn y_quad(at: Y_PLACE, k: u32) -> vec4f { return gather(at, k, true); }
fn y_edge(at: Y_PLACE, k: u32) -> vec4f { return gather(at, min(k, launch.k - 1u), k < launch.k); }
