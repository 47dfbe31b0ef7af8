// The gradient of margins.wgsl: for each of its elements the sum of what was made of it, in order.
//
// launch: wide_x size_x:i32 before_x:i32 step_x wide_y size_y:i32 before_y:i32 step_y wide_z size_z:i32 before_z:i32 step_z
// expects: as margins.wgsl, the step and outer(o) of the widened input

// The places of a line that read its element `at`: `count` of them, some beyond the line's ends.
struct Readers { at: i32, before: i32, size: i32, count: u32 }

fn readers(i: u32, wide: u32, before: i32, size: i32) -> Readers {
    let at = i32(i);
    let after = i32(wide) - size - before;
    if REPLICATE {
        let first = select(max(at + before, 0), 0, at == 0);
        let end = select(min(at + before + 1, i32(wide)), i32(wide), at == size - 1);
        return Readers(first, before, size, u32(max(end - first, 0)));
    }
    let inside = select(
        at < size - before && at >= after,
        at > before && at < size - 1 - after,
        REFLECT
    );
    return Readers(at, before, size, select(3u, 1u, inside));
}

// The k-th; past every line if there is none.
fn reader(r: Readers, k: u32) -> u32 {
    if REPLICATE { return u32(r.at) + k; }
    let own = r.at + r.before;
    if k == 0u { return u32(own); }
    if REFLECT {
        let at_edge = select(r.at == r.size - 1, r.at == 0, k == 1u);  // its own mirror
        let far = select(own + 2 * (r.size - 1 - r.at), r.before - r.at, k == 1u);
        return u32(select(far, -1, at_edge));
    }
    return u32(own + select(r.size, -r.size, k == 1u));
}

fn line(x: Readers, start: u32) -> T {
    var total = T();
    for (var k = 0u; k < x.count; k++) {
        let place = reader(x, k);
        if place < launch.wide_x { total += input_at(start + place * launch.step_x); }
    }
    return total;
}

fn plane(y: Readers, x: Readers, start: u32) -> T {
    var total = T();
    for (var k = 0u; k < y.count; k++) {
        let place = reader(y, k);
        if place < launch.wide_y { total += line(x, start + place * launch.step_y); }
    }
    return total;
}

fn volume(z: Readers, y: Readers, x: Readers, start: u32) -> T {
    var total = T();
    for (var k = 0u; k < z.count; k++) {
        let place = reader(z, k);
        if place < launch.wide_z { total += plane(y, x, start + place * launch.step_z); }
    }
    return total;
}

fn value_at(i: u32) -> T {
    let row = div_u32(i, u32(launch.size_x));
    let x = readers(
        i - row * u32(launch.size_x), launch.wide_x, launch.before_x, launch.size_x
    );
    if DIMS == 1u { return line(x, outer(row)); }
    let up = div_u32(row, u32(launch.size_y));
    let y = readers(
        row - up * u32(launch.size_y), launch.wide_y, launch.before_y, launch.size_y
    );
    if DIMS == 2u { return plane(y, x, outer(up)); }
    let far = div_u32(up, u32(launch.size_z));
    let z = readers(
        up - far * u32(launch.size_z), launch.wide_z, launch.before_z, launch.size_z
    );
    return volume(z, y, x, outer(far));
}
