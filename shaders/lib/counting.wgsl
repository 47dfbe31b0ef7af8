// Counting through rows and columns: division by sizes, without integer division.

// a / b for b < 2^31, exactly. Drivers divide integers slowly, those on a CPU one by one.
fn div_u32(a: u32, b: u32) -> u32 {
    let inverse = 1.0 / f32(b);
    let guess = u32(min(f32(a) * inverse, 4294967040.0));
    let rest = i32(a - guess * b);
    let near = guess + u32(i32(floor(f32(rest) * inverse)));
    let left = i32(a - near * b);
    return near + select(0u, 1u, left >= i32(b)) - select(0u, 1u, left < 0);
}
