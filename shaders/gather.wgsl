// Looks elements up along one dimension of its input, by an index.
//
// launch: stride size:i32 lowest:i32
// expects: fn base(i: u32) -> u32, where element i would be read if the index there were 0;
//          lowest, the least index that counts: -size where negative ones count from the end

fn value_at(i: u32) -> T {
    let index = index_nth(i);
    if index < launch.lowest || index >= launch.size {
        report_out_of_range(bitcast<u32>(index));
        return T();
    }
    let row = select(index, index + launch.size, index < 0);
    return input_at(base(i) + u32(row) * launch.stride);
}
