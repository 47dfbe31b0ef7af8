// Float32 tests, comparisons, selections and exact arithmetic, by bits.
//
// WGSL lets an implementation assume that there are no NaNs and infinities, and read subnormals as
// zero: `x != x` is false everywhere, `max(nan, 0)` is 0, `select(a, b, a < b)` of a NaN is b on
// NVIDIA, 1e-40 < 2e-40 is false there and on SwiftShader. Bits tell, and cost as little.

fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits); }  // a literal infinity does not compile

fn magnitude(x: f32) -> u32 { return bitcast<u32>(x) & 0x7fffffffu; }

fn is_nan_f32(x: f32) -> bool { return magnitude(x) > 0x7f800000u; }
fn is_inf_f32(x: f32) -> bool { return magnitude(x) == 0x7f800000u; }
fn is_finite_f32(x: f32) -> bool { return magnitude(x) < 0x7f800000u; }
fn is_posinf_f32(x: f32) -> bool { return bitcast<u32>(x) == 0x7f800000u; }
fn is_neginf_f32(x: f32) -> bool { return bitcast<u32>(x) == 0xff800000u; }
fn signbit_f32(x: f32) -> bool { return (bitcast<u32>(x) >> 31u) != 0u; }
fn to_bool_f32(x: f32) -> bool { return magnitude(x) != 0u; }

// An integer that orders as the float does; both zeros are 0, NaNs lie beyond the infinities.
fn order_f32(x: f32) -> i32 {
    let size = bitcast<i32>(magnitude(x));
    return select(size, -size, signbit_f32(x));
}

fn eq_f32(x: f32, y: f32) -> bool {
    return (order_f32(x) == order_f32(y)) & !is_nan_f32(x);
}
fn ne_f32(x: f32, y: f32) -> bool { return !eq_f32(x, y); }
fn lt_f32(x: f32, y: f32) -> bool {
    return (order_f32(x) < order_f32(y)) & !is_nan_f32(x) & !is_nan_f32(y);
}
fn le_f32(x: f32, y: f32) -> bool {
    return (order_f32(x) <= order_f32(y)) & !is_nan_f32(x) & !is_nan_f32(y);
}
fn gt_f32(x: f32, y: f32) -> bool { return lt_f32(y, x); }
fn ge_f32(x: f32, y: f32) -> bool { return le_f32(y, x); }

// NaN wins; of equal arguments (0 and -0) the first.
fn maximum_f32(x: f32, y: f32) -> f32 {
    let takes_y = ((order_f32(y) > order_f32(x)) | is_nan_f32(y)) & !is_nan_f32(x);
    return select(x, y, takes_y);
}
fn minimum_f32(x: f32, y: f32) -> f32 {
    let takes_y = ((order_f32(y) < order_f32(x)) | is_nan_f32(y)) & !is_nan_f32(x);
    return select(x, y, takes_y);
}

// NaN loses.
fn fmax_f32(x: f32, y: f32) -> f32 {
    let takes_y = ((order_f32(y) > order_f32(x)) | is_nan_f32(x)) & !is_nan_f32(y);
    return select(x, y, takes_y);
}
fn fmin_f32(x: f32, y: f32) -> f32 {
    let takes_y = ((order_f32(y) < order_f32(x)) | is_nan_f32(x)) & !is_nan_f32(y);
    return select(x, y, takes_y);
}

fn clamp_min_f32(x: f32, low: f32) -> f32 { return maximum_f32(x, low); }
fn clamp_max_f32(x: f32, high: f32) -> f32 { return minimum_f32(x, high); }
fn clamp_f32(x: f32, low: f32, high: f32) -> f32 {
    return minimum_f32(maximum_f32(x, low), high);
}

// Zero for negative numbers; -0 and NaN stay. One range test of the bits, -subnormal to -inf.
fn relu_f32(x: f32) -> f32 {
    return select(x, 0.0, bitcast<u32>(x) - 0x80000001u < 0x7f800000u);
}

// 0 for both zeros and for NaN, as PyTorch.
fn sign_f32(x: f32) -> f32 {
    let one = bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | 0x3f800000u);
    return select(0.0, one, magnitude(x) - 1u < 0x7f800000u);
}

fn copysign_f32(x: f32, y: f32) -> f32 {
    return bitcast<f32>(magnitude(x) | (bitcast<u32>(y) & 0x80000000u));
}

fn abs_f32(x: f32) -> f32 { return bitcast<f32>(magnitude(x)); }
fn neg_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); }

fn nextafter_f32(x: f32, y: f32) -> f32 {
    let start = order_f32(x);
    let goal = order_f32(y);
    let next = start + select(-1, 1, goal > start);
    let bits = select(bitcast<u32>(next), bitcast<u32>(-next) | 0x80000000u, next < 0);
    // leaving -1 subnormal upwards ends at -0
    let signed = select(bits, 0x80000000u, (next == 0) & signbit_f32(x));
    let moved = select(bitcast<f32>(signed), y, start == goal);
    return select(select(moved, y, is_nan_f32(y)), x, is_nan_f32(x));
}

// The integer of a subnormal's bits is a normal float: an adapter cannot flush it.
fn is_subnormal_bits(bits: u32) -> bool { return bits - 1u < 0x007fffffu; }

// Rounded right, whatever the adapter's own root is, but for sizes beyond 2^80.
fn sqrt_f32(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let tiny = is_subnormal_bits(bits);
    let scaled = select(x, f32(bits << 1u), tiny);
    let usual = bitcast<u32>(scaled) - 0x17800000u < 0x50000000u;
    let a = select(1.0, scaled, usual);  // a CPU would stumble over NaN turned subnormal below
    let root = held_f32(sqrt(a));
    let upper = upper_f32(root);
    let lower = root - upper;
    let rest = (held_f32(a - upper * upper) - 2.0 * upper * lower) - lower * lower;
    let better = root + held_f32(rest * (0.5 / root));
    return select(sqrt(x), better * select(1.0, 2.646978e-23, tiny), usual);  // 2^-75
}

fn rsqrt_f32(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let tiny = is_subnormal_bits(bits);
    let root = inverseSqrt(select(x, f32(bits << 1u), tiny));
    let result = root * select(1.0, 3.777893186295716e22, tiny);  // 2^75
    return select(result, float_of(bits | 0x7f800000u), (bits << 1u) == 0u);
}

fn square_f32(x: f32) -> f32 { return x * x; }
fn frac_f32(x: f32) -> f32 { return x - trunc(x); }

// x, unless NaN: a wall that compilers do not regroup sums across, as they do (x - n a) - n b.
fn held_f32(x: f32) -> f32 { return min(x, 3.0e38); }

// The upper 12 bits of a float: the product of two such is exact.
fn upper_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }

// Remainder of the magnitudes as if in unlimited precision, eight bits of the quotient at a time.
fn fmod_f32(x: f32, y: f32) -> f32 {
    let a = magnitude(x);
    let b = magnitude(y);
    if (b == 0u || b > 0x7f800000u || a >= 0x7f800000u) { return float_of(0x7fc00000u); }
    if (a < b) { return x; }
    let ea = max(a >> 23u, 1u);
    let eb = max(b >> 23u, 1u);
    let mb = (b & 0x7fffffu) | select(0u, 0x800000u, b >= 0x800000u);
    var rest = (a & 0x7fffffu) | select(0u, 0x800000u, a >= 0x800000u);
    rest = rest % mb;
    for (var left = ea - eb; left > 0u && rest != 0u;) {
        let step = min(left, 8u);
        rest = (rest << step) % mb;
        left = left - step;
    }
    return bitcast<f32>(float_bits(rest, eb) | (bitcast<u32>(x) & 0x80000000u));
}

// Bits of mantissa * 2^(exponent - 150), for a mantissa below 2^24; exact.
fn float_bits(mantissa: u32, exponent: u32) -> u32 {
    if (mantissa == 0u) { return 0u; }
    let shift = min(countLeadingZeros(mantissa) - 8u, exponent - 1u);
    let m = mantissa << shift;
    return select(m, (m & 0x7fffffu) | ((exponent - shift) << 23u), m >= 0x800000u);
}

// Python's remainder: the sign of the divisor.
fn floor_mod_f32(x: f32, y: f32) -> f32 {
    let rest = fmod_f32(x, y);
    let other_side = (magnitude(rest) != 0u) & (signbit_f32(rest) != signbit_f32(y));
    return select(rest, rest + y, other_side & !is_nan_f32(rest));
}

fn floor_div_f32(x: f32, y: f32) -> f32 {
    let rest = fmod_f32(x, y);
    let other_side = (magnitude(rest) != 0u) & (signbit_f32(rest) != signbit_f32(y));
    let quotient = div_f32(x - rest, y) - select(0.0, 1.0, other_side);
    let whole = floor(quotient);
    let rounded = whole + select(0.0, 1.0, quotient - whole > 0.5);
    let zero = bitcast<f32>((bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u);
    let result = select(rounded, zero, magnitude(quotient) == 0u);
    return select(select(result, rest, is_nan_f32(rest)), x / y, magnitude(y) == 0u);
}

fn trunc_div_f32(x: f32, y: f32) -> f32 { return trunc(div_f32(x, y)); }

// Rounded right: GPUs multiply by a reciprocal, which makes 49 / 49 less than 1. The quotient of
// the mantissas is mended by what it leaves, and scaled; the rest goes to the adapter's division.
fn div_f32(x: f32, y: f32) -> f32 {
    let bx = normal_bits(magnitude(x));
    let by = normal_bits(magnitude(y));
    let mx = bitcast<f32>((bx & 0x7fffffu) | 0x3f800000u);
    let my = bitcast<f32>((by & 0x7fffffu) | 0x3f800000u);
    let inverse = 1.0 / my;
    let q = held_f32(mx * inverse);
    let q_upper = upper_f32(q);
    let q_lower = q - q_upper;
    let y_upper = upper_f32(my);
    let y_lower = my - y_upper;
    let rest = held_f32(held_f32(mx - q_upper * y_upper) - q_upper * y_lower - q_lower * y_upper)
        - q_lower * y_lower;
    let e = exponent_of(x) - exponent_of(y);
    let size = bitcast<u32>(scale_f32(q + held_f32(rest * inverse), clamp(e, -252, 252)));
    let quotient = bitcast<f32>(size | ((bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u));
    let usual = is_number_bits(magnitude(x)) & is_number_bits(magnitude(y));
    // of what is no number, or makes none, only the kind matters; subnormal results round there
    let other = select(kind_f32(x), x, usual) / select(kind_f32(y), y, usual);
    return select(other, quotient, usual & (size >= 0x800000u));
}

// Bits of a float of the same mantissa that is not subnormal.
fn normal_bits(size: u32) -> u32 { return select(size, bitcast<u32>(f32(size)), size < 0x800000u); }
fn exponent_of(x: f32) -> i32 {
    let size = magnitude(x);
    return i32(normal_bits(size) >> 23u) - select(127, 276, size < 0x800000u);
}
fn is_number_bits(size: u32) -> bool { return size - 1u < 0x7f7fffffu; }  // neither 0, inf, NaN
fn kind_f32(x: f32) -> f32 { return select(x, copysign_f32(1.0, x), is_number_bits(magnitude(x))); }

fn reciprocal_f32(x: f32) -> f32 { return 1.0 / x; }

fn hypot_f32(x: f32, y: f32) -> f32 {
    let more = max(magnitude(x), magnitude(y));
    let ratio = quotient_of_magnitudes(min(magnitude(x), magnitude(y)), more);
    let result = bitcast<f32>(more) * sqrt(1.0 + ratio * ratio);
    let checked = select(result, float_of(0x7fc00000u), is_nan_f32(x) | is_nan_f32(y));
    return select(checked, float_of(0x7f800000u), is_inf_f32(x) | is_inf_f32(y));
}

// As x86: what does not fit, and NaN, becomes the smallest integer.
fn to_i32_f32(x: f32) -> i32 {
    let fits = magnitude(x) < 0x4f000000u;  // 2^31
    return select(-2147483647 - 1, i32(select(0.0, x, fits)), fits);
}
