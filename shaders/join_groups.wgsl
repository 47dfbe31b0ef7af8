// Joins what has equal keys with what is there, in the order of the source.
//
// launch: count size width stride keys
// expects: count = size * width; size, how many keys; width, how many elements beside each other
//          have one key; keys, the key that means nowhere;
//          fn key_of(i: u32) -> u32, sorted; fn old(i: u32) -> u32, where it was in the source;
//          fn base(c: u32) -> u32, where element c of key 0 is in the result;
//          fn beside(c: u32) -> u32 and fn along(i: u32) -> u32, where it is in the source

fn compute(i: u32) {
    let first = i / launch.width;
    let c = i % launch.width;
    let key = key_of(first);
    if key >= launch.keys { return; }
    if first > 0u {
        if key_of(first - 1u) == key { return; }
    }
    let place = base(c) + key * launch.stride;
    let column = beside(c);
    var total = result_at(place);
    for (var k = first; k < launch.size; k++) {
        if key_of(k) != key { break; }
        total = merged(total, source_at(column + along(old(k))));
    }
    set_result(place, total);
}
