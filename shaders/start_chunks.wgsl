// Turns a section of counts into where each of them starts, given where their chunks start.
//
// launch: count size chunk lower upper top
// expects: count, how many chunks; size, how many counts; chunk, how many to a chunk;
//          lower and upper, where the two sections begin; top, whether all is one chunk, of which
//          the total is left

fn compute(c: u32) {
    let end = min((c + 1u) * launch.chunk, launch.size);
    var start = 0;
    if launch.top == 0u { start = counts_words[launch.upper + c]; }
    for (var i = c * launch.chunk; i < end; i++) {
        let many = counts_words[launch.lower + i];
        set_counts(launch.lower + i, start);
        start += many;
    }
    if launch.top != 0u { set_total(0u, start); }
}
