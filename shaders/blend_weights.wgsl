// What each weight of a blend gets: the gradient times the element at its place, of all channels.
//
// launch: channels size taps per_row
// expects: grad_output_nth(i), samples x channels x per_row; input_nth(i), samples x channels x size;
//          places_nth(i), samples x taps x per_row

fn value_at(i: u32) -> T {
    let place = places_nth(i);
    var total = T();
    if place < 0 || u32(place) >= launch.size {
        return total;
    }
    let row = div_u32(i, launch.per_row);
    let first = div_u32(row, launch.taps) * launch.channels;
    let column = i - row * launch.per_row;
    for (var channel = first; channel < first + launch.channels; channel++) {
        total += grad_output_nth(channel * launch.per_row + column)
            * input_nth(channel * launch.size + u32(place));
    }
    return total;
}
