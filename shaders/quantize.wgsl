// The levels of a row, whole numbers from 0 to launch.levels that divide its range; its least
// element, and the distance of two levels. A NaN makes low and step NaN.
//
// launch: levels

fn do_row(row: Base) {
    let count = steps();
    var most = V(float_of(0xff800000u));
    var least = most;  // the largest of the negated
    for (var k = 0u; k < count; k++) {
        let x = input_get(row, k);
        most = maximum_v(most, x);
        least = maximum_v(least, -x);
    }
    let low = -all_max(least);
    let step = all_max(most) / launch.levels - low / launch.levels;
    low_set(low);
    step_set(step);
    let inverse = select(2.0 / step, V(0.0), step <= V(1e-36));
    for (var k = 0u; k < count; k++) {
        let level = round((input_get(row, k) * 0.5 - low * 0.5) * inverse);
        levels_of_put(row, k, clamp(level, V(0.0), V(launch.levels)));
    }
}
