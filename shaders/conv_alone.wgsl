// A convolution in which each channel is alone: a thread has four places beside each other.
//
// launch: count fours out_height out_width channels height width
//         stride_row stride_col padding_row padding_col dilation_row dilation_col
//         x_offset x_image x_channel x_row x_col y_offset y_channel y_row y_col
//         bias_offset bias_step
// expects: x_load, y_load; window(place, row, col, weight), what four windows see times the weight
//          at a place; bias_of(channel); keep(place, col, v)

const GROUP = 128u;

fn seen(place: u32, row: u32, col: u32) -> f32 {
    let inside = (row < launch.height) & (col < launch.width);  // before the first: it wraps
    let at = place + row * launch.x_row + col * launch.x_col;
    return select(0.0, x_load(select(0u, at, inside)), inside);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < launch.count; i += groups.x * GROUP) {
        let line = i / launch.fours;
        let col = (i - line * launch.fours) * 4u;
        let image_and_channel = line / launch.out_height;
        let row = line - image_and_channel * launch.out_height;
        let image = image_and_channel / launch.channels;
        let channel = image_and_channel - image * launch.channels;
        let place = launch.x_offset + image * launch.x_image + channel * launch.x_channel;
        let v = window(
            place, row * launch.stride_row - launch.padding_row,
            col * launch.stride_col - launch.padding_col,
            launch.y_offset + channel * launch.y_channel
        );
        keep(line * launch.out_width + col, col, v + bias_of(channel));
    }
}
