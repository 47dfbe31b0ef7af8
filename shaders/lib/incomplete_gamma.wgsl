// The regularized incomplete gamma functions of float32, within 1e-6 relative: the lower one, P,
// and the upper one, Q = 1 - P. The smaller is computed, by what converges for it:
//
// * a series around x = 0, and for small a one whose terms do not cancel (DLMF 8.7),
// * the continued fraction of Legendre (DLMF 8.9.2), where x is above a,
// * Temme's uniform expansion, where both are large and alike (DLMF 8.12).

// 1 / gamma(1 + r) = 1 + r h(r), 0 <= r <= 1
fn gamma_slope(r: f32) -> f32 {
    return 0.5772157 + r * (-0.6558781 + r * (-0.04200138 + r * (0.16652508 + r * (-0.042123787
        + r * (-0.009852372 + r * (0.007651841 + r * (-0.0016626277 + r * 0.00012570508)))))));
}

// 2^32 x^a e^-x / gamma(a + 1) for positive finite a and x; without the factor it may be subnormal.
// Its exponent needs more bits than a float has: d - a log(x / a), where d = x - a, for large a.
fn gamma_weight(a: f32, x: f32) -> f32 {
    let large = a >= 8.0;
    let logarithm = pair_log_of_quotient(x, select(1.0, a, large));
    let first = pair_mul(vec2<f32>(a, 0.0), logarithm);
    let exponent = pair_add(first, pair_of_sum(-x, select(0.0, a, large)));
    var factor = 1.0;
    var r = min(a, 8.0);
    for (var k = 0; k < 8; k++) {
        let step = r > 1.0;
        factor = select(factor, factor * r, step);
        r = select(r, r - 1.0, step);
    }
    let u = 1.0 / a;
    let stirling = 1.0 + u * (-0.08333355 + u * (0.003480334 + u * 0.0025896672));
    let few = (1.0 + r * gamma_slope(r)) / factor;
    let scale = select(few, 0.3989423 * rsqrt_f32(a) * stirling, large);
    let vanishes = exponent.x < -110.0;
    let power = exp_parts(select(exponent.x, 0.0, vanishes), exponent.y, 32);
    return select(power * scale, 0.0, vanishes);
}

// P / weight = 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...
fn gamma_series(a: f32, x: f32) -> f32 {
    var sum = 1.0;
    var term = 1.0;
    for (var n = 1.0; n < 200.0; n = n + 1.0) {
        term = term * (x / (a + n));
        sum = sum + term;
        if (term < 2.0e-8 * sum) { break; }
    }
    return sum;
}

// Q for a and x up to 1, of g = 1 / gamma(1 + a):
// 1 - x^a g + x^a g a (x / (a + 1) - x^2 / (2 (a + 2)) + ...)
fn gamma_upper_small(a: f32, x: f32) -> f32 {
    var sum = 0.0;
    var term = 1.0;
    for (var n = 1.0; n < 14.0; n = n + 1.0) {
        term = term * (-x / n);
        sum = sum - term / (a + n);
    }
    let h = gamma_slope(a);
    let g = 1.0 + a * h;
    let power = expm1_f32(a * log_f32(x));
    return a * ((1.0 + power) * (g * sum)) - (power * g + a * h);
}

// Q / weight, x > a and x > 0.75: a / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / ...))
fn gamma_fraction(a: f32, x: f32) -> f32 {
    let d = x - a;
    var below = d + 53.0;
    for (var n = 26.0; n > 0.0; n = n - 1.0) {
        below = (d + (2.0 * n - 1.0)) - n * (n - a) / below;
    }
    return a / below;
}

// P (of a lower x) or Q (of a higher one) for a >= 20 and x like it: with e^2 / 2 = m - log(1 + m),
// m = (x - a) / a, it is the normal distribution's tail at e sqrt(a), and a series in 1 / a.
fn gamma_uniform(a: f32, x: f32) -> f32 {
    let d = x - a;
    let exponent = pair_add(pair_of_sum(d, 0.0),
        pair_mul(vec2<f32>(-a, 0.0), pair_log_of_quotient(x, a)));
    if (exponent.x > 110.0) { return 0.0; }
    let half_square = max(exponent.x, 0.0);
    let e = copysign_f32(sqrt(2.0 * half_square / a), d);
    let u = 1.0 / a;
    let first = -0.33333334 + e * (0.083333336 + e * (-0.014814815 + e * (0.0011574074
        + e * (0.00035273368 + e * (-0.00017875514 + e * 3.9192633e-5)))));
    let second = -0.0018518518 + e * (-0.0034722222 + e * (0.0026455026 + e * (-0.0009902263
        + e * 0.00020576132)));
    let third = 0.004133598 + e * (-0.002681327 + e * 0.00077160494);
    let series = 0.3989423 * rsqrt_f32(a) * (first + u * (second + u * third));
    let tail = 0.5 * erfcx_positive(sqrt(half_square)) + copysign_f32(1.0, d) * series;
    return tail * exp_parts(-exponent.x, -exponent.y, 32) * 2.3283064365386963e-10;
}

// (P, Q)
fn gamma_both(a: f32, x: f32) -> vec2<f32> {
    if (lt_f32(a, 0.0) || lt_f32(x, 0.0) || is_nan_f32(a) || is_nan_f32(x)) {
        return vec2<f32>(float_of(0x7fc00000u));
    }
    let nothing = magnitude(x) == 0u;
    let all = is_posinf_f32(x);
    if ((magnitude(a) == 0u && nothing) || (is_posinf_f32(a) && all)) {
        return vec2<f32>(float_of(0x7fc00000u));
    }
    if (nothing || is_posinf_f32(a)) { return vec2<f32>(0.0, 1.0); }
    if (all || magnitude(a) == 0u) { return vec2<f32>(1.0, 0.0); }
    if (a >= 20.0 && x > 0.6 * a && x < 1.5 * a) {
        let part = gamma_uniform(a, x);
        return select(vec2<f32>(1.0 - part, part), vec2<f32>(part, 1.0 - part), x < a);
    }
    if (max(a, x) > 1.0e5) { return select(vec2<f32>(0.0, 1.0), vec2<f32>(1.0, 0.0), x > a); }
    if (x > a && x > 0.75) {
        let upper = gamma_weight(a, x) * gamma_fraction(a, x) * 2.3283064365386963e-10;
        return vec2<f32>(1.0 - upper, upper);
    }
    let lower = gamma_weight(a, x) * gamma_series(a, x) * 2.3283064365386963e-10;
    if (a <= 1.0) { return vec2<f32>(lower, gamma_upper_small(a, x)); }
    return vec2<f32>(lower, 1.0 - lower);
}

fn igamma_f32(a: f32, x: f32) -> f32 { return gamma_both(a, x).x; }
fn igammac_f32(a: f32, x: f32) -> f32 { return gamma_both(a, x).y; }
