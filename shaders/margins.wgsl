// Widens the last DIMS dimensions by elements of their own: mirrored, repeated, or of the other end.
//
// launch: wide_x size_x:i32 before_x:i32 step_x wide_y size_y:i32 before_y:i32 step_y wide_z size_z:i32 before_z:i32 step_z
// expects: of each such dimension (x is the last) how many places and elements it has, how many
//          places stand in front of the elements, and the step between these; outer(o), where the
//          rest of the input begins; one of REFLECT, REPLICATE, CIRCULAR

fn source(place: u32, before: i32, size: i32) -> u32 {
    let at = i32(place) - before;
    let last = size - 1;
    if REFLECT { return u32(last - abs(last - abs(at))); }
    if REPLICATE { return u32(clamp(at, 0, last)); }
    return u32(at + select(0, size, at < 0) - select(0, size, at > last));
}

fn value_at(i: u32) -> T {
    var row = div_u32(i, launch.wide_x);
    var place = source(i - row * launch.wide_x, launch.before_x, launch.size_x) * launch.step_x;
    if DIMS > 1u {
        let plane = div_u32(row, launch.wide_y);
        let y = row - plane * launch.wide_y;
        place += source(y, launch.before_y, launch.size_y) * launch.step_y;
        row = plane;
    }
    if DIMS > 2u {
        let volume = div_u32(row, launch.wide_z);
        let z = row - volume * launch.wide_z;
        place += source(z, launch.before_z, launch.size_z) * launch.step_z;
        row = volume;
    }
    return input_at(outer(row) + place);
}
