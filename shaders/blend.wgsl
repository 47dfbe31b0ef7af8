// Sums of a few elements of each row, weighted; all channels of a sample share places and weights.
//
// launch: channels size taps per_row
// expects: input_nth(i), samples x channels x size; places_nth(i) and weights_nth(i),
//          samples x taps x per_row

fn value_at(i: u32) -> T {
    let row = div_u32(i, launch.per_row);
    let first = div_u32(row, launch.channels) * launch.taps * launch.per_row + i - row * launch.per_row;
    var total = T();
    for (var tap = 0u; tap < launch.taps; tap++) {
        let here = first + tap * launch.per_row;
        let place = places_nth(here);
        var value = T();
        if place >= 0 && u32(place) < launch.size {
            value = input_nth(row * launch.size + u32(place));
        }
        total += weights_nth(here) * value;
    }
    return total;
}
