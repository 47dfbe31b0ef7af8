// Exponentials, logarithms, powers and hyperbolic functions of float32, within 4 ulp everywhere.
//
// WGSL's own lose 60 ulp (exp), 60,000 (tanh) or every digit (asinh of small x) somewhere.
//
// Every result is reached without relying on fma, on subnormals in arithmetic or on the order of
// sums of constants, which adapters treat differently. What is split is split by bits, because
// compilers fold (a + b) - a into b.

fn pow2(n: i32) -> f32 { return bitcast<f32>(u32(n + 127) << 23u); }  // -126 <= n <= 127

// x * 2^n for |n| <= 252: two steps reach the subnormals and stop short of a false infinity.
fn scale_f32(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return held_f32(x * pow2(half)) * pow2(n - half);
}

// The same for 0.5 < x < 2, whose exponent has room for the first step.
fn scale_near_one(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return bitcast<f32>(bitcast<u32>(x) + (bitcast<u32>(half) << 23u)) * pow2(n - half);
}

// x rounded, for |x| < 2^21, in a float that has no bits for fractions: `round` and conversions to
// integers take a GPU as long as eight sums. `rounded_f32` and `rounded_i32` read it.
fn rounding(x: f32) -> f32 { return held_f32(x + 12582912.0); }
fn rounded_f32(sum: f32) -> f32 { return sum - 12582912.0; }
fn rounded_i32(sum: f32) -> i32 { return bitcast<i32>(sum) - 0x4b400000; }

// 2^shift * e^(x + low) for |x| <= 110 and a tiny low.
fn exp_parts(x: f32, low: f32, shift: i32) -> f32 {
    let sum = rounding((x + low) * 1.442695);
    let n = rounded_f32(sum);
    let r = held_f32(x - n * 0.693145752) - (n * 1.4286068e-6 - low);
    let p = 0.49999994 + r * (0.16666517 + r * (0.04166828 + r * (0.008369249 + r * 0.0013820775)));
    return scale_near_one(1.0 + (r + r * r * p), rounded_i32(sum) + shift);
}

// What is 0 anyhow is not computed: CPUs are slow at underflow.
fn exp_f32(x: f32) -> f32 {
    let vanishes = x < -104.0;
    let result = exp_parts(select(min(x, 89.0), 0.0, vanishes), 0.0, 0);
    return select(select(result, 0.0, vanishes), x, is_nan_f32(x));
}

fn exp2_f32(x: f32) -> f32 {
    let vanishes = x < -150.0;
    let bounded = select(min(x, 129.0), 0.0, vanishes);
    let sum = rounding(bounded);
    let result = scale_near_one(exp2_near_zero(bounded - rounded_f32(sum)), rounded_i32(sum));
    return select(select(result, 0.0, vanishes), x, is_nan_f32(x));
}

fn exp2_near_zero(r: f32) -> f32 {
    return 1.0 + r * (0.6931472 + r * (0.24022648 + r * (0.055503596
        + r * (0.009618499 + r * (0.0013390969 + r * 0.00015329264)))));
}

fn expm1_f32(x: f32) -> f32 {
    let bounded = clamp(x, -18.0, 89.0);
    let sum = rounding(bounded * 1.442695);
    let n = rounded_f32(sum);
    let r = held_f32(bounded - n * 0.693145752) - n * 1.4286068e-6;
    let p = r + r * r * (0.49999997 + r * (0.16666542
        + r * (0.04166743 + r * (0.008366875 + r * 0.0013871863))));
    let half = pow2(rounded_i32(sum) - 1);  // 2^128 itself would overflow
    let result = (half * p + (half - 0.5)) * 2.0;
    return select(result, x, is_nan_f32(x) | (magnitude(x) < 0x33000000u));
}

// A positive number as 2^exponent * (1 + f), 0.7 < 1 + f < 1.42: (exponent, f); subnormals too.
fn log_parts(x: f32) -> vec2<f32> {
    let bits = bitcast<u32>(x);
    let tiny = bits < 0x800000u;
    let b = select(bits, bitcast<u32>(f32(bits)), tiny);
    let e = bitcast<i32>(b - 0x3f3504f3u) >> 23u;
    let m = bitcast<f32>(b - (bitcast<u32>(e) << 23u));
    return vec2<f32>(f32(e - select(0, 149, tiny)), m - 1.0);
}

// What a logarithm makes of 0, of infinity, and of what has none; else `y`.
fn log_result(x: f32, y: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let other = select(0x7fc00000u, 0x7f800000u, bits == 0x7f800000u);
    let special = float_of(select(other, 0xff800000u, (bits << 1u) == 0u));
    return select(special, y, bits - 1u < 0x7f7fffffu);
}

// e * log(2) + log(1 + f) as two floats to add: most of the first product, exact, and the rest
fn log_pair(e: f32, f: f32) -> vec2<f32> {
    let p = 0.3333333 + f * (-0.2500082 + f * (0.2000124 + f * (-0.16623408
        + f * (0.14201628 + f * (-0.13159683 + f * (0.12761861 + f * -0.076357506))))));
    let square = f * f;
    let rest = f - (0.5 * square - (square * f * p + e * 1.4286068e-6));
    return vec2<f32>(e * 0.693145752, held_f32(rest));
}

fn log_sum(e: f32, f: f32) -> f32 {
    let parts = log_pair(e, f);
    return parts.x + parts.y;
}

fn log_f32(x: f32) -> f32 {
    let parts = log_parts(x);
    return log_result(x, log_sum(parts.x, parts.y));
}

fn log2_f32(x: f32) -> f32 {
    let parts = log_parts(x);
    let f = parts.y;
    let p = 1.442695 + f * (-0.7213475 + f * (0.48090222 + f * (-0.36068216 + f * (0.2884127
        + f * (-0.2398908 + f * (0.20693919 + f * (-0.19062915
        + f * (0.17370294 + f * -0.09785925))))))));
    return log_result(x, parts.x + f * p);
}

fn log10_f32(x: f32) -> f32 {
    let parts = log_parts(x);
    let low = parts.x * 4.605039e-6 + log_sum(0.0, parts.y) * 0.4342945;
    return log_result(x, parts.x * 0.301025390625 + held_f32(low));
}

fn log1p_f32(x: f32) -> f32 {
    let e = bitcast<i32>(bitcast<u32>(1.0 + x) - 0x3f3504f3u) >> 23u;
    // x * 2^-e by its exponent field: for large x the factor itself would be subnormal
    let scaled = bitcast<f32>(bitcast<u32>(x) - (bitcast<u32>(e) << 23u));
    let f = scaled + (bitcast<f32>(u32(max(127 - e, 0)) << 23u) - 1.0);
    let y = log_result(1.0 + x, log_sum(f32(e), f));
    return select(y, x, magnitude(x) < 0x33000000u);
}

fn logaddexp_f32(x: f32, y: f32) -> f32 {
    let high = maximum_f32(x, y);
    let gap = -abs(x - y);
    return select(high + log1p_f32(exp_f32(gap)), high, is_inf_f32(x) & eq_f32(x, y));
}

fn logaddexp2_f32(x: f32, y: f32) -> f32 {
    let high = maximum_f32(x, y);
    let gap = -abs(x - y);
    let sum = high + log1p_f32(exp2_f32(gap)) * 1.442695;
    return select(sum, high + 1.0, x == y);  // exact, and infinities are no trouble
}

fn xlogy_f32(x: f32, y: f32) -> f32 {
    return select(x * log_f32(y), 0.0, (magnitude(x) == 0u) & !is_nan_f32(y));
}

fn xlog1py_f32(x: f32, y: f32) -> f32 {
    return select(x * log1p_f32(y), 0.0, (magnitude(x) == 0u) & !is_nan_f32(y));
}

fn pow_f32(x: f32, y: f32) -> f32 {
    let result = pow_of_magnitude(magnitude(x), y);
    let size = magnitude(y);
    let whole = (size >= 0x4b800000u) | (trunc(y) == y);  // from 2^24 on all are even
    let odd = whole & (size < 0x4b800000u) & ((i32(select(0.0, y, size < 0x4b800000u)) & 1) != 0);
    let negative = signbit_f32(x);
    let signed = select(result, neg_f32(result), negative & odd);
    let undefined = negative & !whole & (magnitude(x) - 1u < 0x7f7fffffu);
    let invalid = undefined | is_nan_f32(x) | is_nan_f32(y);
    let one = (size == 0u) | (bitcast<u32>(x) == 0x3f800000u);
    return select(select(signed, float_of(0x7fc00000u), invalid), 1.0, one);
}

// 2^(y * log2(a)) for the float a with these bits, a >= 0. The product needs 32 bits, so the
// logarithm and y are each split in an upper half of 12 bits, whose product is exact, and a rest.
fn pow_of_magnitude(bits: u32, y: f32) -> f32 {
    let logarithm = log2_split(bitcast<f32>(bits));
    let rough = y * logarithm.x;
    let y_upper = upper_f32(y);
    let product = y_upper * logarithm.x;
    let rest = y_upper * logarithm.y + (y - y_upper) * (logarithm.x + logarithm.y);
    let sum = rounding(clamp(product + rest, -160.0, 140.0));
    let near = held_f32(product - rounded_f32(sum)) + rest;
    let value = scale_near_one(exp2_near_zero(near), rounded_i32(sum));
    let grows = (bits > 0x3f800000u) != signbit_f32(y);
    let far = (abs(rough) > 160.0) | (bits == 0u) | (bits >= 0x7f800000u) | is_inf_f32(y);
    let limit = select(0.0, float_of(0x7f800000u), grows);
    return select(value, select(limit, 1.0, bits == 0x3f800000u), far);
}

// log2(x) as a number of 12 bits and a rest, right to 2^-28: 2 / log(2) * atanh(f / (2 + f)).
fn log2_split(x: f32) -> vec2<f32> {
    let parts = log_parts(x);
    let f = parts.y;
    let inverse = 1.0 / (2.0 + f);
    let s = upper_f32(f * inverse);
    let f_upper = upper_f32(f);
    let s_rest = (held_f32((f - 2.0 * s) - s * f_upper) - s * (f - f_upper)) * inverse;
    let t = s + s_rest;  // as the adapter's division may be off by an ulp or two
    let square = t * t;
    let series = square * t * (0.3333333 + square * (0.20000486
        + square * (0.14249396 + square * 0.12139423)));
    let first = s * 2.884765625;  // 12 bits of 2 / log(2): exact
    let second = s * 0.0006244568 + 2.8853901 * (s_rest + series);
    let upper = upper_f32(parts.x + (first + second));
    return vec2<f32>(upper, held_f32((parts.x - upper) + first) + second);
}

fn sinh_f32(x: f32) -> f32 {
    let a = abs(x);
    let square = x * x;
    let near = x + x * square * (0.16666716 + square * (0.008330274 + square * 0.0002037283));
    let half = exp_parts(min(a, 95.0), 0.0, -1);
    let far = copysign_f32(half - 0.25 / half, x);
    let result = select(far, near, a < 1.0);
    return select(result, x, is_nan_f32(x) | (magnitude(x) < 0x39000000u));
}

fn cosh_f32(x: f32) -> f32 {
    let half = exp_parts(min(abs(x), 95.0), 0.0, -1);
    return select(half + 0.25 / half, x, is_nan_f32(x));
}

// t / (t + 2) with t = e^|2 x| - 1 = 2^n (e^r - 1) + (2^n - 1), which keeps the digits of small x.
fn tanh_f32(x: f32) -> f32 {
    let bounded = select(min(2.0 * abs(x), 22.0), x, is_nan_f32(x));
    let sum = rounding(bounded * 1.442695);
    let r = bounded - rounded_f32(sum) * 0.6931472;
    let p = r + r * r * (0.49999997 + r * (0.16666542
        + r * (0.04166743 + r * (0.008366875 + r * 0.0013871863))));
    let scale = pow2(rounded_i32(sum));
    let t = scale * p + (scale - 1.0);
    return copysign_f32(t / (t + 2.0), x);
}

fn asinh_f32(x: f32) -> f32 {
    let a = abs(x);
    let square = a * a;
    let near = log1p_f32(a + square / (1.0 + sqrt(1.0 + square)));
    let far = log_f32(a) + 0.6931472;
    return select(copysign_f32(select(near, far, a > 1.0e9), x), x, is_nan_f32(x));
}

fn acosh_f32(x: f32) -> f32 {
    let t = held_f32(x) - 1.0;
    let near = log1p_f32(t + sqrt(t * (t + 2.0)));
    let far = log_f32(x) + 0.6931472;
    let result = select(near, far, x > 1.0e9);
    return select(float_of(0x7fc00000u), result, ge_f32(x, 1.0));
}

fn atanh_f32(x: f32) -> f32 {
    let a = held_f32(abs(x));
    let result = copysign_f32(0.5 * log1p_f32((a + a) / (1.0 - a)), x);
    return select(float_of(0x7fc00000u), result, magnitude(x) <= 0x3f800000u);
}

// Both halves of the logistic function use e^-|x|, which cannot overflow.
fn sigmoid_f32(x: f32) -> f32 {
    let e = exp_f32(-abs(x));
    return select(1.0, e, signbit_f32(x)) / (1.0 + e);
}

fn logsigmoid_f32(x: f32) -> f32 {
    return select(0.0, x, signbit_f32(x)) - log1p_f32(exp_f32(-abs(x)));
}

fn softplus_f32(x: f32) -> f32 {
    return select(x, 0.0, signbit_f32(x)) + log1p_f32(exp_f32(-abs(x)));
}

// x * e^x for x < -40, the exponential taken 2^32 too large, which keeps it out of the subnormals.
fn x_exp_x(x: f32) -> f32 {
    let vanishes = x < -110.0;
    let bounded = select(min(x, -40.0), -40.0, vanishes);
    let result = bounded * exp_parts(bounded, 0.0, 32) * 2.3283064365386963e-10;
    return select(result, float_of(0x80000000u), vanishes);
}

fn silu_f32(x: f32) -> f32 {
    let e = exp_f32(-abs(x));
    let result = select(select(x, x * e, signbit_f32(x)), x_exp_x(x), x < -40.0) / (1.0 + e);
    return select(result, float_of(0x7fc00000u), is_neginf_f32(x));
}

// x * tanh(softplus(x)), where tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2).
fn mish_f32(x: f32) -> f32 {
    let e = exp_f32(min(x, 30.0));
    let n = e * (e + 2.0);
    let result = select(x * (n / (n + 2.0)), x_exp_x(x), x < -40.0);
    return select(result, float_of(0x7fc00000u), is_neginf_f32(x) | is_nan_f32(x));
}

fn logit_f32(x: f32) -> f32 {
    // near 1/2 the quotient is near 1, where only log1p keeps the digits
    let held = held_f32(x);
    let near = log1p_f32((held - 0.5) * 2.0 / (1.0 - held));
    let far = log_f32(x / (1.0 - held));
    let result = select(far, near, (x > 0.25) & (x < 0.75));
    return select(float_of(0x7fc00000u), result, ge_f32(x, 0.0) & le_f32(x, 1.0));
}
