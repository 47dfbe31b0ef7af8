// y of a convolution as a product: the elements that windows see, gathered on the way in.
//
// Along one axis of y lie the places of the window, (image, row, column) of the result; along the
// other the taps in it, (channel, row, column) of the weight. Either may be y's columns.
//
// launch: y_offset y_group y_image y_channel y_row y_col height width
//         pixels pixels_inverse:f32 pixels_across pixels_across_inverse:f32
//         taps taps_inverse:f32 taps_across taps_across_inverse:f32
//         stride_row stride_col padding_row padding_col dilation_row dilation_col
// expects: TAPS_DOWN (whether k counts taps), y_load

const Y_ALONG_K = false;

struct Spot { place: u32, row: u32, col: u32 }  // what it adds to an element's place, row, column
struct Y_PLACE { place: vec4u, row: vec4u, col: vec4u }

fn spot_at(image: u32, row: u32, col: u32, stride: u32) -> Spot {
    return Spot(image * stride + row * launch.y_row + col * launch.y_col, row, col);
}

fn pixel(i: u32) -> Spot {
    let image = quotient(i, launch.pixels, launch.pixels_inverse);
    let inside = i - image * launch.pixels;
    let row = quotient(inside, launch.pixels_across, launch.pixels_across_inverse);
    let col = inside - row * launch.pixels_across;
    return spot_at(image, row * launch.stride_row, col * launch.stride_col, launch.y_image);
}

fn tap(i: u32) -> Spot {
    let channel = quotient(i, launch.taps, launch.taps_inverse);
    let inside = i - channel * launch.taps;
    let row = quotient(inside, launch.taps_across, launch.taps_across_inverse);
    let col = inside - row * launch.taps_across;
    return spot_at(channel, row * launch.dilation_row, col * launch.dilation_col, launch.y_channel);
}

fn y_place(group: u32, col: u32) -> Y_PLACE {
    let start = launch.y_offset + group * launch.y_group
        - launch.padding_row * launch.y_row - launch.padding_col * launch.y_col;
    var at: Y_PLACE;
    for (var j = 0u; j < 4u; j++) {
        let i = min(col + j, launch.n - 1u);
        var spot: Spot;
        if TAPS_DOWN { spot = pixel(i); } else { spot = tap(i); }
        at.place[j] = start + spot.place;
        at.row[j] = spot.row - launch.padding_row;
        at.col[j] = spot.col - launch.padding_col;
    }
    return at;
}

// What lies outside is zero; rows and columns before the first wrap around and lie outside too.
fn gather(at: Y_PLACE, k: u32, valid: bool) -> vec4f {
    var spot: Spot;
    if TAPS_DOWN { spot = tap(k); } else { spot = pixel(k); }
    let inside = (at.row + spot.row < vec4u(launch.height))
        & (at.col + spot.col < vec4u(launch.width)) & vec4<bool>(valid);
    let p = select(vec4u(), at.place + spot.place, inside);
    return select(vec4f(), vec4f(y_load(p.x), y_load(p.y), y_load(p.z), y_load(p.w)), inside);
}

fn y_quad(at: Y_PLACE, k: u32) -> vec4f { return gather(at, k, true); }
fn y_edge(at: Y_PLACE, k: u32) -> vec4f { return gather(at, min(k, launch.k - 1u), k < launch.k); }
