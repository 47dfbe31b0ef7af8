// The sums of a convolution given back to images of few channels: a thread has some pixels beside
// each other, all their channels, and goes through the channels of the sums.
//
// What a tap is worth to each channel is a vector, in workgroup memory for CHUNK channels at a time.
//
// launch: count down across channels few taps_across
//         x_offset x_image x_channel x_row x_col height width
//         y_offset y_channel y_few y_row y_col out_height out_width bias_offset bias_step
// expects: TAPS, WIDE (vectors of a tap), CHUNK; Totals; first_row(down), first_col(across), where
//          sums are met from; gather(totals, place, row, col, tap), finish(totals, image, down,
//          across); bias_of(channel)

const GROUP = 128u;

var<workgroup> taps: array<vec4f, CHUNK * TAPS * WIDE>;

fn seen(place: u32, row: u32, col: u32) -> f32 {
    let inside = (row < launch.height) & (col < launch.width);  // before the first: it wraps
    let at = place + row * launch.x_row + col * launch.x_col;
    return select(0.0, input_at(select(0u, at, inside)), inside);
}

fn worth(channel: u32, tap: u32, first: u32) -> vec4f {
    let place = launch.y_offset + channel * launch.y_channel
        + tap / launch.taps_across * launch.y_row + tap % launch.taps_across * launch.y_col;
    var v: vec4f;
    for (var k = 0u; k < 4u; k++) {
        let at = min(first + k, launch.few - 1u);
        v[k] = select(0.0, weight_at(place + at * launch.y_few), first + k < launch.few);
    }
    return v;
}

fn store(image: u32, row: u32, col: u32, first: u32, v: vec4f) {
    if row >= launch.out_height || col >= launch.out_width { return; }
    for (var k = 0u; k < 4u; k++) {
        let channel = first + k;
        if channel < launch.few {
            let line = (image * launch.few + channel) * launch.out_height + row;
            set_result(line * launch.out_width + col, v[k] + bias_of(channel));
        }
    }
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var block = group.x * GROUP; block < launch.count; block += groups.x * GROUP) {
        let i = min(block + local, launch.count - 1u);  // the last may be done several times
        let across = i % launch.across;
        let down = i / launch.across % launch.down;
        let image = i / launch.across / launch.down;
        let start = launch.x_offset + image * launch.x_image;
        var totals = Totals();
        for (var first = 0u; first < launch.channels; first += CHUNK) {
            let count = min(CHUNK, launch.channels - first);
            workgroupBarrier();
            for (var j = local; j < count * TAPS * WIDE; j += GROUP) {
                let tap = j / WIDE;
                taps[j] = worth(first + tap / TAPS, tap % TAPS, j % WIDE * 4u);
            }
            workgroupBarrier();
            for (var c = 0u; c < count; c++) {
                let place = start + (first + c) * launch.x_channel;
                gather(&totals, place, first_row(down), first_col(across), c * TAPS * WIDE);
            }
        }
        finish(&totals, image, down, across);
    }
}
