// What the class that a target names costs: minus its score; nothing where it is ignored.
//
// launch: stride size:i32 ignored:i32
// expects: fn base(i: u32) -> u32, where the score of class 0 for target i is

fn value_at(i: u32) -> T {
    let index = index_nth(i);
    if index == launch.ignored {
        return T();
    }
    if index < 0 || index >= launch.size {
        report_out_of_range(bitcast<u32>(index));
        return T();
    }
    return -input_at(base(i) + u32(index) * launch.stride);
}
