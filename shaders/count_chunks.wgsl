// Counts the elements in each chunk of the input that are not zero.
//
// launch: count size chunk
// expects: count, how many chunks; size, how many elements; chunk, how many to a chunk

fn compute(c: u32) {
    let end = min((c + 1u) * launch.chunk, launch.size);
    var total = 0;
    for (var i = c * launch.chunk; i < end; i++) { total += select(0, 1, input_nth(i)); }
    set_counts(c, total);
}
