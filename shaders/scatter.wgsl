// Writes each element of a source where an index says, joining it with what is there.
//
// launch: count stride size:i32 lowest:i32
// expects: fn base(i: u32) -> u32, where element i would be written if the index there were 0;
//          lowest, the least index that counts: -size where negative ones count from the end

fn compute(i: u32) {
    let index = index_nth(i);
    if index < launch.lowest || index >= launch.size {
        report_out_of_range(bitcast<u32>(index));
        return;
    }
    let row = select(index, index + launch.size, index < 0);
    merge_result(base(i) + u32(row) * launch.stride, source_nth(i));
}
