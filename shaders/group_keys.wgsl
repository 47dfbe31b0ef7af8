// Works out where each element of an index points, as a number to sort by.
//
// launch: count size:i32 lowest:i32 stride keys
// expects: fn start(i: u32) -> u32, the key of element i if the index there were 0;
//          lowest, the least index that counts; keys, a key that means nowhere

fn compute(i: u32) {
    set_old_a(i, i32(i));
    let index = index_nth(i);
    if index < launch.lowest || index >= launch.size {
        report_out_of_range(bitcast<u32>(index));
        set_keys_a(i, i32(launch.keys));
        return;
    }
    let row = select(index, index + launch.size, index < 0);
    set_keys_a(i, i32(start(i) + u32(row) * launch.stride));
}
