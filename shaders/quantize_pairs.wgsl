// The levels of two rows that share a range, those of the second times 16 on top of the first's; see
// quantize.wgsl.
//
// launch: levels

fn level(x: V, low: V, inverse: V) -> V {
    return clamp(round((x * 0.5 - low * 0.5) * inverse), V(0.0), V(launch.levels));
}

fn do_row(row: Base) {
    let count = steps();
    var most = V(float_of(0xff800000u));
    var least = most;  // the largest of the negated
    for (var k = 0u; k < count; k++) {
        let x = input_get(row, k);
        let y = other_get(row, k);
        most = maximum_v(most, maximum_v(x, y));
        least = maximum_v(least, maximum_v(-x, -y));
    }
    let low = -all_max(least);
    let step = all_max(most) / launch.levels - low / launch.levels;
    low_set(low);
    step_set(step);
    let inverse = select(2.0 / step, V(0.0), step <= V(1e-36));
    for (var k = 0u; k < count; k++) {
        let lower = level(input_get(row, k), low, inverse);
        let upper = level(other_get(row, k), low, inverse);
        pairs_put(row, k, lower + 16.0 * upper);
    }
}
