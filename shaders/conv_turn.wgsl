// The weight of a convolution with its channels exchanged and some of its taps, in any order: rows
// are what it reads, and along k lie what it writes and the taps.
//
// launch: count m k taps taps_across x_offset x_group x_step x_far x_down x_across
// expects: weight_at(place), set_turned(place, value)

const GROUP = 64u;

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < launch.count; i += groups.x * GROUP) {
        let k = i % launch.k;
        let row = i / launch.k % launch.m;
        let group = i / launch.k / launch.m;
        let tap = k % launch.taps;
        let place = launch.x_offset + group * launch.x_group + row * launch.x_step
            + k / launch.taps * launch.x_far + tap / launch.taps_across * launch.x_down
            + tap % launch.taps_across * launch.x_across;
        set_turned(i, weight_at(place));
    }
}
