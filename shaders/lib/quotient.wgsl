// Division by a number whose inverse is known.

// a / b: exact while the quotient is below 2^22. Integer division is slow everywhere, and an
// adapter that runs on a CPU does it element by element.
fn quotient(a: u32, b: u32, inverse: f32) -> u32 {
    let q = u32(f32(a) * inverse);
    let rest = i32(a - q * b);
    return q + select(0u, 1u, rest >= i32(b)) - select(0u, 1u, rest < 0);
}

fn quotients(a: vec4u, b: u32, inverse: f32) -> vec4u {
    return vec4u(
        quotient(a.x, b, inverse), quotient(a.y, b, inverse),
        quotient(a.z, b, inverse), quotient(a.w, b, inverse)
    );
}
