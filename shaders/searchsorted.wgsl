// How many elements of a sorted row are below each value, or not above it.
//
// launch: length many one_row right
// expects: sorted_sequence_nth(i), rows x length; input_nth(i), rows x many

fn value_at(i: u32) -> T {
    let value = input_nth(i);
    var row = 0u;
    if launch.one_row == 0u { row = div_u32(i, launch.many) * launch.length; }
    var low = 0u;
    var high = launch.length;
    while low < high {
        let middle = (low + high) / 2u;
        let here = sorted_sequence_nth(row + middle);
        let goes_on = select(above_t(here, value), !above_t(value, here), launch.right != 0u);
        if goes_on { low = middle + 1u; } else { high = middle; }
    }
    return result_of(i32(low));
}
