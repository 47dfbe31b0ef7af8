// Lists what belongs to where a mask holds, each chunk from where its share of the list starts.
//
// launch: count size chunk
// expects: count, how many chunks; size, how many elements; chunk, how many to a chunk;
//          starts_nth(c), where chunk c starts in the list; leave(place, i), of element i

fn compute(c: u32) {
    let end = min((c + 1u) * launch.chunk, launch.size);
    var place = u32(starts_nth(c));
    for (var i = c * launch.chunk; i < end; i++) {
        if mask_nth(i) {
            leave(place, i);
            place++;
        }
    }
}
