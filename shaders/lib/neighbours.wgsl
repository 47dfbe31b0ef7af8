// The parts of floats by their bits: mantissa, exponent, the next number up or down.

// Of a size that is neither 0, inf nor NaN; of subnormals too.
fn exponent_bits(size: u32) -> i32 {
    return select(i32(size >> 23u), 9 - i32(countLeadingZeros(size)), size < 0x800000u);
}

fn frexp_exponent_f32(x: f32) -> f32 {
    let size = magnitude(x);
    return select(0.0, f32(exponent_bits(size) - 126), is_number_bits(size));
}

fn frexp_mantissa_f32(x: f32) -> f32 {
    let size = magnitude(x);
    let shift = select(0u, countLeadingZeros(size) - 8u, size < 0x800000u);
    let bits = ((size << shift) & 0x7fffffu) | 0x3f000000u | (bitcast<u32>(x) & 0x80000000u);
    return select(x, bitcast<f32>(bits), is_number_bits(size));
}

// The size of the neighbour: away from zero if y lies there, else towards it.
fn next_size(size: u32, x: f32, y: f32) -> u32 {
    return select(size - 1u, size + 1u, lt_f32(x, y) != signbit_f32(x));
}

// As nextafter_f32, among the halves.
fn nextafter_half_f32(start: f32, towards: f32) -> f32 {
    let x = round_f16_f32(start);
    let y = round_f16_f32(towards);
    let size = f32_to_f16(x) & 0x7fffu;
    let sign = bitcast<u32>(select(x, y, size == 0u)) >> 31u;
    let bits = select(next_size(size, x, y), 1u, size == 0u) | (sign << 15u);
    let next = select(f16_to_f32(bits), y, eq_f32(x, y));
    return select(next, float_of(0x7fc00000u), is_nan_f32(x) | is_nan_f32(y));
}

// As nextafter_f32, among the bfloat16.
fn nextafter_brain_f32(start: f32, towards: f32) -> f32 {
    let x = round_bf16_f32(start);
    let y = round_bf16_f32(towards);
    let size = magnitude(x) >> 16u;
    let sign = bitcast<u32>(select(x, y, size == 0u)) & 0x80000000u;
    let bits = (select(next_size(size, x, y), 1u, size == 0u) << 16u) | sign;
    let next = select(bitcast<f32>(bits), y, eq_f32(x, y));
    return select(next, float_of(0x7fc00000u), is_nan_f32(x) | is_nan_f32(y));
}
