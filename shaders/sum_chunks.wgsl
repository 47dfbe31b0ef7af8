// Adds up each chunk of a section of counts, into the section behind it.
//
// launch: count size chunk lower upper
// expects: count, how many chunks; size, how many counts; chunk, how many to a chunk;
//          lower and upper, where the two sections begin

fn compute(c: u32) {
    let end = min((c + 1u) * launch.chunk, launch.size);
    var total = 0;
    for (var i = c * launch.chunk; i < end; i++) { total += counts_words[launch.lower + i]; }
    set_counts(launch.upper + c, total);
}
