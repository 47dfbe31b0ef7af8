// Elements that share a 32-bit word: their bits as numbers, numbers as their bits, exactly.
//
// Rounding is to nearest, ties to even; subnormals, infinities, signed zeros and NaN survive.
// By bits, because WGSL leaves the rounding of its own packing functions to the adapter.

fn unpack_u8(word: u32, k: u32) -> i32 { return bitcast<i32>((word >> (8u * k)) & 255u); }
fn unpack_i8(word: u32, k: u32) -> i32 { return bitcast<i32>(word << (24u - 8u * k)) >> 24u; }
fn unpack_bool(word: u32, k: u32) -> bool { return ((word >> (8u * k)) & 255u) != 0u; }
fn unpack_i16(word: u32, k: u32) -> i32 { return bitcast<i32>(word << (16u - 16u * k)) >> 16u; }

fn unpack4_u8(word: u32) -> vec4<i32> {
    return bitcast<vec4<i32>>((vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u));
}
fn unpack4_i8(word: u32) -> vec4<i32> {
    return bitcast<vec4<i32>>(vec4<u32>(word) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
}
fn unpack4_bool(word: u32) -> vec4<bool> { return unpack4_u8(word) != vec4<i32>(0); }
fn unpack2_i16(word: u32) -> vec2<i32> {
    return vec2<i32>(unpack_i16(word, 0u), unpack_i16(word, 1u));
}

// i8 and u8 alike: the lower eight bits of each.
fn pack4_u8(x: vec4<i32>) -> u32 {
    let bits = (bitcast<vec4<u32>>(x) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
    return (bits.x | bits.y) | (bits.z | bits.w);
}
fn pack4_bool(x: vec4<bool>) -> u32 {
    return pack4_u8(select(vec4<i32>(0), vec4<i32>(1), x));
}
fn pack2_i16(x: vec2<i32>) -> u32 {
    return (bitcast<u32>(x.x) & 0xffffu) | (bitcast<u32>(x.y) << 16u);
}

fn unpack_f16(word: u32, k: u32) -> f32 { return f16_to_f32((word >> (16u * k)) & 0xffffu); }
fn unpack2_f16(word: u32) -> vec2<f32> {
    return vec2<f32>(f16_to_f32(word & 0xffffu), f16_to_f32(word >> 16u));
}
fn pack2_f16(x: vec2<f32>) -> u32 { return f32_to_f16(x.x) | (f32_to_f16(x.y) << 16u); }

fn f16_to_f32(bits: u32) -> f32 {
    let size = bits & 0x7fffu;
    let normal = (size << 13u) + select(0x38000000u, 0x70000000u, size >= 0x7c00u);
    // 2^-14 (1 + size / 2^10) less 2^-14
    let tiny = bitcast<u32>(bitcast<f32>((size << 13u) + 0x38800000u) - 6.1035156e-5);
    return bitcast<f32>(select(normal, tiny, size < 0x400u) | ((bits & 0x8000u) << 16u));
}

fn f32_to_f16(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let size = bits & 0x7fffffffu;
    let rounded = size + 0xfffu + ((size >> 13u) & 1u);
    let normal = min((rounded - 0x38000000u) >> 13u, 0x7c00u);
    // beside 1/2 a float's last bit counts 2^-24, as a subnormal's
    let tiny = bitcast<u32>(bitcast<f32>(min(size, 0x38800000u)) + 0.5) - 0x3f000000u;
    let number = select(normal, tiny, size < 0x38800000u);
    return select(number, 0x7e00u, size > 0x7f800000u) | ((bits >> 16u) & 0x8000u);
}

// The nearest float16; an infinity from 65520 on.
fn round_f16_f32(x: f32) -> f32 {
    let size = magnitude(x);
    let rounded = (size + 0xfffu + ((size >> 13u) & 1u)) & 0xffffe000u;
    let bounded = select(rounded, 0x7f800000u, rounded >= 0x47800000u);
    let steps = round(bitcast<f32>(min(size, 0x38800000u)) * 16777216.0);  // of 2^-24
    let tiny = bitcast<u32>(steps * 5.9604645e-8);
    let result = copysign_f32(bitcast<f32>(select(bounded, tiny, size < 0x38800000u)), x);
    return select(result, x, size > 0x7f800000u);
}

fn unpack_bf16(word: u32, k: u32) -> f32 { return bitcast<f32>((word >> (16u * k)) << 16u); }
fn unpack2_bf16(word: u32) -> vec2<f32> {
    return vec2<f32>(bitcast<f32>(word << 16u), bitcast<f32>(word & 0xffff0000u));
}
fn pack2_bf16(x: vec2<f32>) -> u32 { return (bf16_bits(x.x) >> 16u) | bf16_bits(x.y); }
fn round_bf16_f32(x: f32) -> f32 { return bitcast<f32>(bf16_bits(x)); }

fn cut2_bf16(x: vec2<f32>) -> u32 {
    return (bitcast<u32>(x.x) >> 16u) | (bitcast<u32>(x.y) & 0xffff0000u);
}

// The nearest bfloat16, in the upper half of the word.
fn bf16_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) & 0xffff0000u;
    return select(rounded, (bits & 0xffff0000u) | 0x400000u, is_nan_f32(x));
}

// The same by the adapter's own packing, where that is exact.
fn unpack_f16_native(word: u32, k: u32) -> f32 { return unpack2x16float(word >> (16u * k)).x; }
fn unpack2_f16_native(word: u32) -> vec2<f32> { return unpack2x16float(word); }
fn pack2_f16_native(x: vec2<f32>) -> u32 { return pack2x16float(x); }
fn round_f16_f32_native(x: f32) -> f32 {
    return f16_to_f32(pack2x16float(vec2<f32>(x, 0.0)) & 0xffffu);  // unpacked, NVIDIA's never rounds
}
