// A convolution in any type, one element per thread: for dtypes that are not computed as f32.
//
// launch: count m channels out_height out_width height width taps_down taps_across
//         stride_row stride_col padding_row padding_col dilation_row dilation_col
//         x_offset x_image x_channel x_row x_col y_offset y_image y_channel y_row y_col group
// expects: T, x_at(place) of the images, y_at(place) of the weight, multiply_add, keep(i, value),
//          biased(channel, value); group = channels of the result in a group

const GROUP = 64u;

fn sum_at(image: u32, channel: u32, row: u32, col: u32) -> T {
    let first = channel / launch.group * launch.channels;
    var total = T();
    for (var c = 0u; c < launch.channels; c++) {
        let x = launch.x_offset + image * launch.x_image + (first + c) * launch.x_channel;
        let y = launch.y_offset + channel * launch.y_image + c * launch.y_channel;
        for (var down = 0u; down < launch.taps_down; down++) {
            let r = row * launch.stride_row + down * launch.dilation_row - launch.padding_row;
            if r >= launch.height { continue; }
            for (var across = 0u; across < launch.taps_across; across++) {
                let k = col * launch.stride_col + across * launch.dilation_col
                    - launch.padding_col;
                if k >= launch.width { continue; }
                let a = x_at(x + r * launch.x_row + k * launch.x_col);
                let b = y_at(y + down * launch.y_row + across * launch.y_col);
                total = multiply_add(total, a, b);
            }
        }
    }
    return total;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < launch.count; i += groups.x * GROUP) {
        let col = i % launch.out_width;
        let row = i / launch.out_width % launch.out_height;
        let line = i / launch.out_width / launch.out_height;
        let channel = line % launch.m;
        keep(i, biased(channel, sum_at(line / launch.m, channel, row, col)));
    }
}
