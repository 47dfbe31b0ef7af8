// Adds each gradient, times its weights, to the elements that were blended there.
//
// launch: count channels size taps per_row
// expects: grad_output_nth(i), samples x channels x per_row; places_nth(i) and weights_nth(i),
//          samples x taps x per_row; a result of zeros, samples x channels x size

fn compute(i: u32) {
    let row = div_u32(i, launch.per_row);
    let sample = div_u32(row, launch.channels);
    let first = sample * launch.taps * launch.per_row + i - row * launch.per_row;
    let grad = grad_output_nth(i);
    for (var tap = 0u; tap < launch.taps; tap++) {
        let here = first + tap * launch.per_row;
        let place = places_nth(here);
        if place >= 0 && u32(place) < launch.size {
            merge_result(row * launch.size + u32(place), weights_nth(here) * grad);
        }
    }
}
