// One index into two dimensions seen as one, from an index into each.
//
// launch: size:i32 first:i32 lowest:i32
// expects: first, the size of the dimension of the input if that is still unchecked, else 0;
//   lowest, -size where an index may count from the end, else 0

fn checked(index: i32, size: i32, lowest: i32) -> i32 {
    if index < lowest || index >= size {
        report_out_of_range(bitcast<u32>(index));
        return 0;
    }
    return select(index, index + size, index < 0);
}

fn value_at(i: u32) -> T {
    var row = input_nth(i);
    if launch.first > 0 { row = checked(row, launch.first, -launch.first); }
    return result_of(row * launch.size + checked(index_nth(i), launch.size, launch.lowest));
}
