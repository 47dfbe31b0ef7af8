// Trigonometric functions of float32 over all of its range, and their inverses, within 3 ulp.
//
// The built-ins are loose beyond a few turns (and atan near 0 on llvmpipe); atan2 also owns its
// quadrants, zeros and infinities.

// x as a multiple of pi/2 and a rest in [-pi/4, pi/4]: (rest, the multiple mod 4).
struct Turn { rest: f32, quarter: u32 }

fn turn_of(x: f32) -> Turn {
    if (abs(x) < 2048.0) {
        let n = round(x * 0.63661975);
        // pi/2 in pieces of 12 bits: their products with n, below 2^11, are exact
        let first = held_f32(held_f32(x - n * 1.5703125) - n * 4.837513e-4);
        let rest = held_f32(first - n * 7.5495336e-8) - n * 2.563344e-12;
        return Turn(rest, bitcast<u32>(i32(n)) & 3u);
    }
    return turn_of_large(x);
}

// Multiplies by those 96 bits of 2 / pi that matter: the ones before only add whole turns.
fn turn_of_large(x: f32) -> Turn {
    let bits = magnitude(x);
    let mantissa = (bits & 0x7fffffu) | 0x800000u;
    let w = two_over_pi_from((bits >> 23u) - 120u);
    // mantissa * (w.x, w.y, w.z) mod 2^96: the upper two bits count quarters
    let c = wide_mul(mantissa, w.z);
    let b = wide_mul(mantissa, w.y);
    let low = b.x + c.y;
    let high = mantissa * w.x + b.y + select(0u, 1u, low < b.x);
    let quarter = (high + 0x20000000u) >> 30u;
    var rest_high = (high << 2u) | (low >> 30u);
    var rest_low = (low << 2u) | (c.x >> 30u);
    let below = (rest_high >> 31u) != 0u;  // the nearest quarter lies above
    rest_low = select(rest_low, 0u - rest_low, below);
    rest_high = select(rest_high, ~rest_high + select(0u, 1u, rest_low == 0u), below);
    let shift = countLeadingZeros(rest_high);
    let top = (rest_high << shift) | select(0u, rest_low >> (32u - shift), shift > 0u);
    let product = wide_mul(top, 0xc90fdaa2u).y;  // pi/2 * 2^31
    let size = f32(bitcast<i32>(product >> 1u)) * pow2(-30 - i32(shift));
    let negative = below != signbit_f32(x);
    return Turn(select(size, -size, negative), select(quarter, 0u - quarter, signbit_f32(x)) & 3u);
}

// 96 bits of 2 / pi from bit `first` of (32 zeros, fraction) on, first < 160.
fn two_over_pi_from(first: u32) -> vec3<u32> {
    var w = vec4<u32>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u);
    if (first >= 32u) { w = vec4<u32>(0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u); }
    if (first >= 64u) { w = vec4<u32>(0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u); }
    if (first >= 96u) { w = vec4<u32>(0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u); }
    if (first >= 128u) { w = vec4<u32>(0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu); }
    let left = first & 31u;
    let carried = select(vec3<u32>(0u), w.yzw >> vec3<u32>((32u - left) & 31u), left > 0u);
    return (w.xyz << vec3<u32>(left)) | carried;
}

// The 64-bit product: (low, high).
fn wide_mul(x: u32, y: u32) -> vec2<u32> {
    let a = x & 0xffffu;
    let b = x >> 16u;
    let c = y & 0xffffu;
    let d = y >> 16u;
    let ac = a * c;
    let ad = a * d + (ac >> 16u);
    let bc = b * c + (ad & 0xffffu);
    return vec2<u32>(x * y, b * d + (ad >> 16u) + (bc >> 16u));
}

fn sin_near_zero(r: f32) -> f32 {
    let z = r * r;
    return r + r * z * (-0.16666654 + z * (0.008332107 + z * -0.00019508073));
}

fn cos_near_zero(r: f32) -> f32 {
    let z = r * r;
    return 1.0 - (0.5 * z - z * z * (0.041666646 + z * (-0.0013887298 + z * 2.4430088e-5)));
}

// sin(x + quarters * pi/2)
fn sin_from(x: f32, quarters: u32) -> f32 {
    let turn = turn_of(x);
    let q = turn.quarter + quarters;
    let size = select(sin_near_zero(turn.rest), cos_near_zero(turn.rest), (q & 1u) != 0u);
    let result = bitcast<f32>(bitcast<u32>(size) ^ ((q & 2u) << 30u));
    return select(float_of(0x7fc00000u), result, is_finite_f32(x));
}

fn sin_f32(x: f32) -> f32 {
    return select(sin_from(x, 0u), x, magnitude(x) < 0x39000000u);
}

fn cos_f32(x: f32) -> f32 { return sin_from(x, 1u); }

fn tan_f32(x: f32) -> f32 {
    let turn = turn_of(x);
    let r = turn.rest;
    let z = r * r;
    let t = r + r * z * (0.33333352 + z * (0.13332571 + z * (0.054070976 + z * (0.021222642
        + z * (0.010995432 + z * (-0.00011859125 + z * 0.0044814623))))));
    let result = select(t, -1.0 / t, (turn.quarter & 1u) != 0u);
    let checked = select(float_of(0x7fc00000u), result, is_finite_f32(x));
    return select(checked, x, magnitude(x) < 0x39000000u);
}

// (asin(r) - r) / r^3 of z = r^2, r <= 1/2
fn asin_series(z: f32) -> f32 {
    return 0.16666752 + z * (0.0749531 + z * (0.04546902 + z * (0.024185503 + z * 0.042157013)));
}

fn asin_f32(x: f32) -> f32 {
    let a = held_f32(abs(x));
    let near = x + x * (x * x) * asin_series(x * x);
    let z = 0.5 * (1.0 - a);
    let s = sqrt(z);
    let far = 1.5707964 - 2.0 * (s + s * z * asin_series(z));
    let result = select(copysign_f32(far, x), near, a < 0.5);
    let inside = select(float_of(0x7fc00000u), result, magnitude(x) <= 0x3f800000u);
    return select(inside, x, magnitude(x) < 0x39000000u);
}

fn acos_f32(x: f32) -> f32 {
    let a = held_f32(abs(x));
    let z = 0.5 * (1.0 - a);
    let s = sqrt(z);
    let small = 2.0 * (s + s * z * asin_series(z));
    let far = select(small, 3.1415927 - small, signbit_f32(x));
    let near = 1.5707964 - (x + x * (x * x) * asin_series(x * x));
    return select(float_of(0x7fc00000u), select(far, near, a < 0.5), magnitude(x) <= 0x3f800000u);
}

// atan(t), 0 <= t <= 1
fn atan_near_zero(t: f32) -> f32 {
    let z = t * t;
    return t + t * z * (-0.333333 + z * (0.19998531 + z * (-0.14264052 + z * (0.109511726
        + z * (-0.08400458 + z * (0.057906043 + z * (-0.031126289
        + z * (0.010886868 + z * -0.0017874144))))))));
}

fn atan_f32(x: f32) -> f32 {
    let a = abs(x);
    let angle = atan_near_zero(select(a, 1.0 / a, a > 1.0));
    let result = copysign_f32(select(angle, 1.5707964 - angle, a > 1.0), x);
    return select(result, x, is_nan_f32(x) | (magnitude(x) < 0x39000000u));
}

// The quotient of two floats given by their bits, the larger below; an adapter may only be able to
// divide by what has a normal reciprocal, and may not see subnormals at all.
fn quotient_of_magnitudes(less: u32, more: u32) -> f32 {
    if (more < 0x800000u) { return f32(less) / f32(max(more, 1u)); }
    let factor = select(select(1.0, 4294967296.0, more < 0x20000000u), 2.3283064e-10,
        more > 0x60000000u);
    return (bitcast<f32>(less) * factor) / (bitcast<f32>(more) * factor);
}

fn atan2_f32(y: f32, x: f32) -> f32 {
    let ax = magnitude(x);
    let ay = magnitude(y);
    let more = max(ax, ay);
    let less = min(ax, ay);
    let quotient = quotient_of_magnitudes(less, more);
    let both = less == more;  // two infinities, or two zeros
    let angle = atan_near_zero(select(quotient, select(1.0, 0.0, more == 0u), both));
    let acute = select(angle, 1.5707964 - angle, ay > ax);
    let result = copysign_f32(select(acute, 3.1415927 - acute, signbit_f32(x)), y);
    return select(result, float_of(0x7fc00000u), is_nan_f32(x) | is_nan_f32(y));
}

// sin(pi x) / (pi x)
fn sinc_f32(x: f32) -> f32 {
    let result = select(0.0, sin_pi(x, 0u) / (3.1415927 * x), abs(x) < 1.0e30);
    let checked = select(float_of(0x7fc00000u), result, is_finite_f32(x));
    return select(checked, 1.0, magnitude(x) < 0x38000000u);
}

// sin(pi x + quarters pi / 2), exact at whole and half numbers
fn sin_pi(x: f32, quarters: u32) -> f32 {
    let bounded = select(0.0, x, abs(x) < 8388608.0);
    let n = round(2.0 * bounded);
    let r = (bounded - 0.5 * n) * 3.1415927;
    let q = bitcast<u32>(i32(n)) + quarters;
    let size = select(sin_near_zero(r), cos_near_zero(r), (q & 1u) != 0u);
    return bitcast<f32>(bitcast<u32>(size) ^ ((q & 2u) << 30u));
}
