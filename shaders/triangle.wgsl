// The part of matrices on one side of a diagonal, zeros on the other.
//
// launch: rows cols diagonal:i32 upper
// expects: upper, 1 for what is above the diagonal, 0 for what is below

fn value_at(i: u32) -> T {
    let right = i32(i % launch.cols) - i32(i / launch.cols % launch.rows) - launch.diagonal;
    if right != 0 && (right > 0) != (launch.upper == 1u) { return T(); }
    return input_nth(i);
}
