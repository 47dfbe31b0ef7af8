// Keys: unsigned words that order as the values do. A 64-bit value has two, the lower as word 0.

// Both zeros are equal; NaNs are equal and above all.
fn sort_key_f32(x: f32, word: u32) -> u32 {
    let bits = bitcast<u32>(x);
    let up = select(bits | 0x80000000u, ~bits, (bits >> 31u) != 0u);
    let key = select(up, 0x80000000u, (bits << 1u) == 0u);
    return select(key, 0xffffffffu, is_nan_f32(x));
}
fn sort_key_bool(x: bool, word: u32) -> u32 { return select(0x80000000u, 0x80000001u, x); }
fn sort_key_i32(x: i32, word: u32) -> u32 { return bitcast<u32>(x) ^ 0x80000000u; }
fn sort_key_i64(x: i64, word: u32) -> u32 {
    return select(u32(x & 0xffffffffli), u32((x >> 32u) & 0xffffffffli) ^ 0x80000000u, word == 1u);
}
fn sort_key_i64e(x: vec2<u32>, word: u32) -> u32 { return select(x.x, x.y ^ 0x80000000u, word == 1u); }
fn sort_key_f64(x: f64, word: u32) -> u32 {
    let bits = bitcast<i64>(x);
    let size = bits & 0x7fffffffffffffffli;
    let value = select(select(size, -size - 1li, bits < 0li), 0li, size == 0li);
    let last = size > 0x7ff0000000000000li;
    return select(sort_key_i64(value, word), 0xffffffffu, last);
}
