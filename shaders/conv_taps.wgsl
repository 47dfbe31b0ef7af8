// The gradient of a weight of which each channel sees but one: a workgroup has a channel's taps, and
// each thread sums all of them over some of the places, which are read once; other workgroups have
// other parts of the places.
//
// launch: channels each places span pixels pixels_inverse:f32 pixels_across pixels_across_inverse:f32
//         stride_row stride_col padding_row padding_col dilation_row dilation_col
//         x_offset x_image x_channel x_row x_col height width y_offset y_image y_channel y_place
// expects: GROUP, DOWN, ACROSS (taps); keep(i, sum)

const TAPS = DOWN * ACROSS;

var<workgroup> shared_sums: array<f32, GROUP * TAPS>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var channel = group.x; channel < launch.channels; channel += groups.x) {
        let x = launch.x_offset + channel / launch.each * launch.x_channel;
        let y = launch.y_offset + channel * launch.y_channel;
        var totals: array<f32, TAPS>;
        for (var t = 0u; t < TAPS; t++) { totals[t] = 0.0; }
        let end = min(launch.places, (group.y + 1u) * launch.span);
        for (var i = group.y * launch.span + local; i < end; i += GROUP) {
            let image = quotient(i, launch.pixels, launch.pixels_inverse);
            let inside = i - image * launch.pixels;
            let row = quotient(inside, launch.pixels_across, launch.pixels_across_inverse);
            let col = inside - row * launch.pixels_across;
            let given = other_at(y + image * launch.y_image + inside * launch.y_place);
            let place = x + image * launch.x_image;
            for (var down = 0u; down < DOWN; down++) {
                let r = row * launch.stride_row + down * launch.dilation_row - launch.padding_row;
                for (var across = 0u; across < ACROSS; across++) {
                    let c = col * launch.stride_col + across * launch.dilation_col
                        - launch.padding_col;
                    let met = (r < launch.height) & (c < launch.width);
                    let at = select(0u, place + r * launch.x_row + c * launch.x_col, met);
                    totals[down * ACROSS + across] += given * select(0.0, input_at(at), met);
                }
            }
        }
        for (var t = 0u; t < TAPS; t++) { shared_sums[t * GROUP + local] = totals[t]; }
        for (var half = GROUP / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if local < half {
                for (var t = 0u; t < TAPS; t++) {
                    shared_sums[t * GROUP + local] += shared_sums[t * GROUP + local + half];
                }
            }
        }
        workgroupBarrier();
        if local < TAPS {
            let at = (group.y * launch.channels + channel) * TAPS + local;
            keep(at, shared_sums[local * GROUP]);
        }
        workgroupBarrier();
    }
}
