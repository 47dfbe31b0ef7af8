// An index for each dimension, side by side, from places counted row by row.
//
// launch: rank s0 s1 s2 s3 s4 s5 s6 s7 p0 p1 p2 p3 p4 p5 p6 p7
// expects: rank, how many dimensions; s0 ..., their sizes; p0 ..., how many places one step is

fn value_at(i: u32) -> T {
    let row = div_u32(i, launch.rank);
    let d = i - row * launch.rank;
    var pair = vec2<u32>(launch.s0, launch.p0);
    pair = select(pair, vec2<u32>(launch.s1, launch.p1), d == 1u);
    pair = select(pair, vec2<u32>(launch.s2, launch.p2), d == 2u);
    pair = select(pair, vec2<u32>(launch.s3, launch.p3), d == 3u);
    pair = select(pair, vec2<u32>(launch.s4, launch.p4), d == 4u);
    pair = select(pair, vec2<u32>(launch.s5, launch.p5), d == 5u);
    pair = select(pair, vec2<u32>(launch.s6, launch.p6), d == 6u);
    pair = select(pair, vec2<u32>(launch.s7, launch.p7), d == 7u);
    let part = div_u32(u32(input_nth(row)), pair.y);
    return result_of(i32(part - div_u32(part, pair.x) * pair.x));
}
