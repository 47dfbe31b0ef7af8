// Finds the first of growing numbers, in a row of its own, that exceeds one drawn for it.
//
// launch: size draws
// expects: result_of(index), input_nth(i), and sums_nth(i): rows of `size`, for `draws` inputs each

fn value_at(i: u32) -> T {
    let row = (i / launch.draws) * launch.size;
    let drawn = input_nth(i);
    var low = 0u;
    var high = launch.size - 1u;
    while low < high {
        let middle = (low + high) / 2u;
        if sums_nth(row + middle) > drawn { high = middle; } else { low = middle + 1u; }
    }
    return result_of(i32(low));
}
