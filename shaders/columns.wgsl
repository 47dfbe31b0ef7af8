// An index for each dimension, side by side, from places counted row by row.
//
// launch: rank s0 s1 s2 s3 s4 s5 s6 s7
// expects: rank, how many dimensions; s0 ..., their sizes, the last one first

fn value_at(i: u32) -> T {
    let sizes = array<u32, 8>(
        launch.s0, launch.s1, launch.s2, launch.s3, launch.s4, launch.s5, launch.s6, launch.s7
    );
    let row = i / launch.rank;
    var rest = u32(input_nth(row));
    let behind = launch.rank - 1u - (i - row * launch.rank);
    for (var d = 0u; d < behind; d++) { rest /= sizes[d]; }
    return result_of(i32(rest % sizes[behind]));
}
