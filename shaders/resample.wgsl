// Sums of a few neighbours along one dimension, each with its weight: what resizing is.
//
// launch: stride size taps
// expects: fn base(i: u32) -> u32, where element i would be read if its neighbours began at 0;
//          bands(i), where its band is: the place of the first neighbour, then the weights

fn value_at(i: u32) -> T {
    let band = bands(i);
    let first = u32(bands_at(band));
    var total = T();
    for (var t = 0u; t < min(launch.taps, launch.size - first); t++) {
        let weight = bands_at(band + 1u + t);
        // what a neighbour without a weight is, infinite or not, does not count
        if weight != bands_type() {
            total += T(weight) * input_at(base(i) + (first + t) * launch.stride);
        }
    }
    return total;
}
