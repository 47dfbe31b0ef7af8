// 64-bit integers where WGSL has none: two words, x the lower, y the upper; two's complement.
//
// Operators:    i64_add sub mul neg and or xor not shl shr eq ne lt le gt ge, all over vec2<u32>
// Conversions:  i64_from_i32 i64_from_u32 i64_from_bool i64_from_f32, i64_to_i32 (the lower word)
//               i64_to_u32 i64_to_bool i64_to_f32 (to nearest, ties to even)
// Functions of expressions end in _i64e here and in _i64 where the adapter has the type
// (int64_native.wgsl): the same names, the same results.

fn i64_from_i32(x: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(x), bitcast<u32>(x >> 31u)); }
fn i64_from_u32(x: u32) -> vec2<u32> { return vec2<u32>(x, 0u); }
fn i64_from_bool(x: bool) -> vec2<u32> { return vec2<u32>(select(0u, 1u, x), 0u); }
fn i64_to_i32(x: vec2<u32>) -> i32 { return bitcast<i32>(x.x); }
fn i64_to_u32(x: vec2<u32>) -> u32 { return x.x; }
// What an i32 cannot hold lies beyond the ends of any dimension.
fn i64_as_index(x: vec2<u32>) -> i32 {
    let low = bitcast<i32>(x.x);
    let high = bitcast<i32>(x.y);
    let beyond = select(2147483647, -2147483647, high < 0);
    return select(beyond, low, high == low >> 31u);
}
fn i64_to_bool(x: vec2<u32>) -> bool { return (x.x | x.y) != 0u; }

fn i64_add(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let low = x.x + y.x;
    return vec2<u32>(low, x.y + y.y + select(0u, 1u, low < x.x));
}
fn i64_sub(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(x.x - y.x, x.y - y.y - select(0u, 1u, x.x < y.x));
}
fn i64_neg(x: vec2<u32>) -> vec2<u32> { return i64_sub(vec2<u32>(0u), x); }
fn i64_mul(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let low = wide_mul(x.x, y.x);
    return vec2<u32>(low.x, low.y + x.x * y.y + x.y * y.x);
}
fn i64_and(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return x & y; }
fn i64_or(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return x | y; }
fn i64_xor(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return x ^ y; }
fn i64_not(x: vec2<u32>) -> vec2<u32> { return ~x; }

fn i64_eq(x: vec2<u32>, y: vec2<u32>) -> bool { return (x.x == y.x) & (x.y == y.y); }
fn i64_ne(x: vec2<u32>, y: vec2<u32>) -> bool { return (x.x != y.x) | (x.y != y.y); }
fn i64_lt(x: vec2<u32>, y: vec2<u32>) -> bool {
    return (bitcast<i32>(x.y) < bitcast<i32>(y.y)) | ((x.y == y.y) & (x.x < y.x));
}
fn i64_le(x: vec2<u32>, y: vec2<u32>) -> bool { return !i64_lt(y, x); }
fn i64_gt(x: vec2<u32>, y: vec2<u32>) -> bool { return i64_lt(y, x); }
fn i64_ge(x: vec2<u32>, y: vec2<u32>) -> bool { return !i64_lt(x, y); }

fn i64_negative(x: vec2<u32>) -> bool { return (x.y >> 31u) != 0u; }

// Shifts by fewer than 64 bits.
fn u64_shl(x: vec2<u32>, n: u32) -> vec2<u32> {
    let s = n & 31u;
    let carried = select(0u, x.x >> ((32u - s) & 31u), s > 0u);
    return select(vec2<u32>(x.x << s, (x.y << s) | carried), vec2<u32>(0u, x.x << s), n >= 32u);
}
fn u64_shr(x: vec2<u32>, n: u32) -> vec2<u32> {
    let s = n & 31u;
    let carried = select(0u, x.y << ((32u - s) & 31u), s > 0u);
    return select(vec2<u32>((x.x >> s) | carried, x.y >> s), vec2<u32>(x.y >> s, 0u), n >= 32u);
}

// Counts that are negative or 64 and more shift everything out.
fn i64_shl(x: vec2<u32>, n: vec2<u32>) -> vec2<u32> {
    return select(vec2<u32>(0u), u64_shl(x, n.x & 63u), (n.y == 0u) & (n.x < 64u));
}
fn i64_shr(x: vec2<u32>, n: vec2<u32>) -> vec2<u32> {
    let flip = vec2<u32>(bitcast<u32>(bitcast<i32>(x.y) >> 31u));
    let moved = u64_shr(x ^ flip, n.x & 63u) ^ flip;
    return select(flip, moved, (n.y == 0u) & (n.x < 64u));
}

fn u64_less(x: vec2<u32>, y: vec2<u32>) -> bool {
    return (x.y < y.y) | ((x.y == y.y) & (x.x < y.x));
}
fn u64_leading_zeros(x: vec2<u32>) -> u32 {
    return select(countLeadingZeros(x.y), 32u + countLeadingZeros(x.x), x.y == 0u);
}

// (quotient, remainder) of unsigned numbers, y not 0: one word at once, else bit by bit.
struct Division { quotient: vec2<u32>, rest: vec2<u32> }
fn u64_divide(x: vec2<u32>, y: vec2<u32>) -> Division {
    if ((x.y | y.y) == 0u) {
        let q = x.x / max(y.x, 1u);
        return Division(vec2<u32>(q, 0u), vec2<u32>(x.x - q * y.x, 0u));
    }
    if (u64_less(x, y)) { return Division(vec2<u32>(0u), x); }
    var quotient = vec2<u32>(0u);
    var rest = x;
    for (var k = i32(u64_leading_zeros(y) - u64_leading_zeros(x)); k >= 0; k--) {
        let part = u64_shl(y, u32(k));
        if (!u64_less(rest, part)) {
            rest = i64_sub(rest, part);
            quotient = quotient | u64_shl(vec2<u32>(1u, 0u), u32(k));
        }
    }
    return Division(quotient, rest);
}

// Toward zero; (0, 0) for a divisor of 0.
fn i64_divide(x: vec2<u32>, y: vec2<u32>) -> Division {
    if (!i64_to_bool(y)) { return Division(vec2<u32>(0u), vec2<u32>(0u)); }
    let answer = u64_divide(abs_i64e(x), abs_i64e(y));
    let flip = i64_negative(x) != i64_negative(y);
    return Division(select(answer.quotient, i64_neg(answer.quotient), flip),
        select(answer.rest, i64_neg(answer.rest), i64_negative(x)));
}

fn trunc_div_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return i64_divide(x, y).quotient; }
fn fmod_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return i64_divide(x, y).rest; }
fn floor_div_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let answer = i64_divide(x, y);
    let below = i64_to_bool(answer.rest) & (i64_negative(answer.rest) != i64_negative(y));
    return select(answer.quotient, i64_sub(answer.quotient, vec2<u32>(1u, 0u)), below);
}
fn floor_mod_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let rest = fmod_i64e(x, y);
    let below = i64_to_bool(rest) & (i64_negative(rest) != i64_negative(y));
    return select(rest, i64_add(rest, y), below);
}

fn maximum_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return select(x, y, i64_lt(x, y)); }
fn minimum_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return select(x, y, i64_lt(y, x)); }
fn fmax_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return maximum_i64e(x, y); }
fn fmin_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return minimum_i64e(x, y); }
fn max_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return maximum_i64e(x, y); }
fn min_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return minimum_i64e(x, y); }
fn clamp_i64e(x: vec2<u32>, low: vec2<u32>, high: vec2<u32>) -> vec2<u32> {
    return minimum_i64e(maximum_i64e(x, low), high);
}
fn clamp_min_i64e(x: vec2<u32>, low: vec2<u32>) -> vec2<u32> { return maximum_i64e(x, low); }
fn clamp_max_i64e(x: vec2<u32>, high: vec2<u32>) -> vec2<u32> { return minimum_i64e(x, high); }
fn relu_i64e(x: vec2<u32>) -> vec2<u32> { return select(x, vec2<u32>(0u), i64_negative(x)); }
fn abs_i64e(x: vec2<u32>) -> vec2<u32> { return select(x, i64_neg(x), i64_negative(x)); }
fn sign_i64e(x: vec2<u32>) -> vec2<u32> {
    return select(i64_from_bool(i64_to_bool(x)), vec2<u32>(0xffffffffu), i64_negative(x));
}
fn signbit_i64e(x: vec2<u32>) -> bool { return i64_negative(x); }
fn square_i64e(x: vec2<u32>) -> vec2<u32> { return i64_mul(x, x); }
fn shl_i64e(x: vec2<u32>, n: vec2<u32>) -> vec2<u32> { return i64_shl(x, n); }
fn shr_i64e(x: vec2<u32>, n: vec2<u32>) -> vec2<u32> { return i64_shr(x, n); }
fn eq_i64e(x: vec2<u32>, y: vec2<u32>) -> bool { return i64_eq(x, y); }
fn ne_i64e(x: vec2<u32>, y: vec2<u32>) -> bool { return i64_ne(x, y); }
fn lt_i64e(x: vec2<u32>, y: vec2<u32>) -> bool { return i64_lt(x, y); }
fn le_i64e(x: vec2<u32>, y: vec2<u32>) -> bool { return i64_le(x, y); }
fn gt_i64e(x: vec2<u32>, y: vec2<u32>) -> bool { return i64_gt(x, y); }
fn ge_i64e(x: vec2<u32>, y: vec2<u32>) -> bool { return i64_ge(x, y); }
fn round_i64e(x: vec2<u32>) -> vec2<u32> { return x; }
fn floor_i64e(x: vec2<u32>) -> vec2<u32> { return x; }
fn ceil_i64e(x: vec2<u32>) -> vec2<u32> { return x; }
fn trunc_i64e(x: vec2<u32>) -> vec2<u32> { return x; }
fn is_nan_i64e(x: vec2<u32>) -> bool { return false; }
fn is_inf_i64e(x: vec2<u32>) -> bool { return false; }
fn is_posinf_i64e(x: vec2<u32>) -> bool { return false; }
fn is_neginf_i64e(x: vec2<u32>) -> bool { return false; }
fn is_finite_i64e(x: vec2<u32>) -> bool { return true; }

// A negative power of anything but 1 and -1 is 0.
fn pow_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    if (i64_negative(y)) {
        let alternating = select(i64_from_i32(1), i64_from_i32(-1), (y.x & 1u) != 0u);
        let inverse = select(vec2<u32>(0u), alternating, i64_eq(x, i64_from_i32(-1)));
        return select(inverse, i64_from_i32(1), i64_eq(x, i64_from_i32(1)));
    }
    var result = i64_from_i32(1);
    var base = x;
    for (var left = y; i64_to_bool(left); left = u64_shr(left, 1u)) {
        if ((left.x & 1u) != 0u) { result = i64_mul(result, base); }
        base = i64_mul(base, base);
    }
    return result;
}

fn gcd_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    var a = abs_i64e(x);
    var b = abs_i64e(y);
    while (i64_to_bool(b)) {
        let rest = u64_divide(a, b).rest;
        a = b;
        b = rest;
    }
    return a;
}
fn lcm_i64e(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    return abs_i64e(i64_mul(trunc_div_i64e(x, gcd_i64e(x, y)), y));
}

fn i64_to_f32(x: vec2<u32>) -> f32 {
    let size = abs_i64e(x);
    let shift = min(u64_leading_zeros(size), 63u);
    let moved = u64_shl(size, shift);
    // 31 bits, as SwiftShader rounds u32 otherwise; what they do not show only breaks ties
    let rest = ((moved.y & 1u) != 0u) | (moved.x != 0u);
    let top = bitcast<i32>((moved.y >> 1u) | select(0u, 1u, rest));
    let value = f32(top) * pow2(33 - i32(shift));
    return select(value, -value, i64_negative(x));
}

// As x86: what does not fit, and NaN, becomes the smallest integer.
fn i64_from_f32(x: f32) -> vec2<u32> {
    let exponent = i32(magnitude(x) >> 23u) - 127;
    let mantissa = vec2<u32>((magnitude(x) & 0x7fffffu) | 0x800000u, 0u);
    let right = u64_shr(mantissa, u32(clamp(23 - exponent, 0, 63)));
    let left = u64_shl(mantissa, u32(clamp(exponent - 23, 0, 63)));
    let size = select(left, right, exponent < 23);
    let signed = select(size, i64_neg(size), signbit_f32(x));
    return select(signed, vec2<u32>(0u, 0x80000000u), exponent >= 63);
}
