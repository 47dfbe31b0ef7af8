// Special functions of float32: error functions, gamma functions, zeta.
//
// Relative errors stay below 1e-6 (absolute near roots); erf and erfc are within 4 ulp.

// erf(x) for |x| < 1
fn erf_near(x: f32) -> f32 {
    let z = x * x;
    return x + x * (0.12837917 + z * (-0.37612626 + z * (0.11283579 + z * (-0.026853347
        + z * (0.0051871627 + z * (-0.00079978653 + z * 7.806981e-5))))));
}

fn erf_f32(x: f32) -> f32 {
    let a = min(abs(x), 4.0);
    // -log(1 - erf)
    let q = 0.0003124601 + a * (1.1272023 + a * (0.6379651 + a * (0.10325606
        + a * (-0.021906378 + a * (0.0029639748 + a * -0.00018796803)))));
    let far = copysign_f32(1.0 - exp_parts(-q, 0.0, 0), x);
    let near = select(erf_near(x), x * 1.1283792, a < 1.0e-30);  // whose parts are subnormal
    return select(select(far, near, abs(x) < 1.0), x, is_nan_f32(x));
}

// e^(a^2) * erfc(a) for a >= 0
fn erfcx_positive(a: f32) -> f32 {
    let bounded = min(a, 1.0e30);
    let q = (bounded - 2.0) / (bounded + 2.0);
    let p = 1.2769784 + q * (-0.09276377 + q * (-0.16603069 + q * (0.16404918
        + q * (-0.054214384 + q * (-0.0080165975 + q * (0.008694935 + q * (0.0012109915
        + q * (-0.0014016423 + q * (-0.00035088093 + q * (0.0001630045 + q * 6.0659982e-5))))))))));
    return 0.5 * p / (0.5 + a);
}

// e^(-factor a^2), factor 1 or 1/2: the square in two parts, as its error would grow with it.
fn exp_minus_square(a: f32, factor: f32) -> f32 {
    let bounded = min(a, 16.0);
    let upper = upper_f32(bounded);
    let rest = (bounded - upper) * (bounded + upper);
    return exp_parts(-(upper * upper * factor), -(rest * factor), 0);
}

fn erfc_f32(x: f32) -> f32 {
    let a = abs(x);
    let tail = select(0.0, exp_minus_square(a, 1.0) * erfcx_positive(a), a < 11.0);
    let far = select(tail, 2.0 - tail, signbit_f32(x));
    return select(select(far, 1.0 - erf_near(x), a < 0.5), x, is_nan_f32(x));
}

fn erfcx_f32(x: f32) -> f32 {
    let a = abs(x);
    let upper = upper_f32(min(a, 9.5));
    let rest = (min(a, 9.5) - upper) * (min(a, 9.5) + upper);
    let mirrored = 2.0 * exp_parts(upper * upper, rest, 0) - erfcx_positive(a);
    let result = select(erfcx_positive(a), mirrored, signbit_f32(x));
    return select(select(result, 0.0, is_posinf_f32(x)), x, is_nan_f32(x));
}

// The upper tail of the normal distribution from a >= 0, times a factor.
fn normal_tail(a: f32, factor: f32) -> f32 {
    let bounded = min(a, 16.0);
    let slow = factor * normal_tail_slow(bounded);
    return select(copysign_f32(0.0, factor), slow * exp_minus_square(bounded, 0.5), a < 15.0);
}

// The same times e^(a^2 / 2), 0 <= a <= 16.
fn normal_tail_slow(a: f32) -> f32 {
    let t = 1.0 / (a + 3.0);
    return t * (0.3988737 + t * (1.2016762 + t * (3.0467417 + t * (9.570594 + t * (-11.911176
        + t * (154.80994 + t * (-580.16974 + t * (830.56525 + t * -435.5359))))))));
}

fn ndtr_f32(x: f32) -> f32 {
    let tail = normal_tail(abs(x), 1.0);
    return select(select(1.0 - tail, tail, signbit_f32(x)), x, is_nan_f32(x));
}

fn log_ndtr_f32(x: f32) -> f32 {
    let a = abs(x);
    let near = log1p_f32(-ndtr_f32(-x));
    let far = log_f32(0.5 * erfcx_positive(a * 0.70710677)) - held_f32(0.5 * a) * a;
    return select(near, far, x < -1.0);
}

// x less |x| times the tail; of negative x only that, times |x| first: alone it may be subnormal.
fn gelu_f32(x: f32) -> f32 {
    let missing = normal_tail(abs(x), abs(x));
    let result = select(x - missing, -missing, signbit_f32(x));
    return select(result, float_of(0x7fc00000u), is_neginf_f32(x) | is_nan_f32(x));
}

// The distribution, and x times its density.
fn gelu_slope_f32(x: f32) -> f32 {
    let a = min(abs(x), 16.0);
    let falls = exp_parts(-0.5 * a * a, 0.0, 0);
    let tail = falls * normal_tail_slow(a);
    let result = select(1.0 - tail, tail, signbit_f32(x)) + x * falls * 0.3989423;
    return select(result, x, is_nan_f32(x));
}

fn gelu_tanh_f32(x: f32) -> f32 {
    return x * sigmoid_f32(x * (1.5957691 + 0.071354814 * (x * x)));
}

fn gelu_tanh_slope_f32(x: f32) -> f32 {
    let square = x * x;
    let share = sigmoid_f32(x * (1.5957691 + 0.071354814 * square));
    return share + x * share * (1.0 - share) * (1.5957691 + 0.21406444 * square);
}

// erfinv(x) / x of w = -log(1 - x^2)
fn erfinv_ratio(w: f32) -> f32 {
    let u = w - 2.5;
    let centre = 1.5014094 + u * (0.24664071 + u * (-0.004177694 + u * (-0.0012536938
        + u * (0.00021859705 + u * (-4.4005733e-6 + u * (-3.5281373e-6
        + u * (3.4404445e-7 + u * 2.8502482e-8)))))));
    let s = sqrt(max(w, 5.0)) - 3.0;
    let tail = 2.832977 + s * (1.0016744 + s * (0.009433944 + s * (-0.0076271184
        + s * (0.0057717785 + s * (-0.0036556886 + s * (0.0012816358
        + s * (8.3232466e-5 + s * -0.00015531387)))))));
    let t = s - 4.0;
    let far = 6.869019 + t * (1.0085967 + t * (-0.0005101717 + t * (5.2797e-6
        + t * (4.7154604e-6 + t * (-1.3214652e-6 + t * (5.297712e-7 + t * -8.9991126e-8))))));
    return select(select(far, tail, w < 17.0), centre, w < 5.0);
}

fn erfinv_f32(x: f32) -> f32 {
    let size = magnitude(x);
    let held = held_f32(x);
    let result = x * erfinv_ratio(-log_f32((1.0 - held) * (1.0 + held)));
    let inside = select(float_of(0x7fc00000u), result, size < 0x3f800000u);
    return select(inside, copysign_f32(float_of(0x7f800000u), x), size == 0x3f800000u);
}

// The quantile of the normal distribution: erfinv(2 p - 1) with the digits of a small p kept.
fn ndtri_f32(p: f32) -> f32 {
    let held = held_f32(p);
    let q = min(held, 1.0 - held);
    let result = (2.828427 * (held - 0.5)) * erfinv_ratio(-log_f32(4.0 * q * (1.0 - q)));
    let inside = select(float_of(0x7fc00000u), result, (p > 0.0) & (p < 1.0));
    let end = copysign_f32(float_of(0x7f800000u), p - 0.5);
    return select(inside, end, (magnitude(p) == 0u) | (bitcast<u32>(p) == 0x3f800000u));
}

// -x log(x)
fn entr_f32(x: f32) -> f32 {
    let inside = select(-x * log_f32(x), 0.0, magnitude(x) == 0u);
    return select(inside, float_of(0xff800000u), lt_f32(x, 0.0));
}

// log(gamma(x)), x > 0. Small x are brought near 2 by x gamma(x) = gamma(x + 1).
fn lgamma_positive(x: f32) -> f32 {
    let small = x < 0.5;
    var d = select(x - 2.0, select(x - 1.0, x, small), x < 1.5);
    var factor = select(1.0, select(x, x * (x + 1.0), small), x < 1.5);
    for (var k = 0; k < 6; k++) {
        let step = d > 0.5;
        factor = select(factor, factor * (d + 1.0), step);
        d = select(d, d - 1.0, step);
    }
    let p = 0.42278433 + d * (0.32246703 + d * (-0.06735148 + d * (0.020581314 + d * (-0.0074016703
        + d * (0.0028811253 + d * (-0.001088775 + d * (0.00056566385 + d * -0.00044453828)))))));
    let logarithm_of_factor = log_f32(factor);
    let near = d * p + select(logarithm_of_factor, -logarithm_of_factor, x < 1.5);
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let logarithm = log_f32(x);
    let series = inverse * (0.083333336 + square * (-0.0027777778 + square * 0.0007936508));
    let far = x * (logarithm - 1.0) - 0.5 * logarithm + (0.9189385 + series);
    let tiny = magnitude(x) < 0x30000000u;
    return select(select(far, near, x < 8.0), -logarithm, tiny);
}

fn lgamma_f32(x: f32) -> f32 {
    let a = abs(x);
    let right = lgamma_positive(a);
    // gamma(x) gamma(-x) = -pi / (x sin(pi x))
    let reflected = log_f32(3.1415927 / (a * abs(sin_pi(a, 0u)))) - right;
    let left = select(reflected, right, magnitude(x) < 0x30000000u);
    let result = select(right, left, signbit_f32(x));
    let pole = (magnitude(x) == 0u) | (signbit_f32(x) & (trunc(x) == x)) | is_inf_f32(x);
    return select(select(result, float_of(0x7f800000u), pole), x, is_nan_f32(x));
}

// Derivative of lgamma for finite x > 0, as a pair: up to six steps, then the asymptotic series.
fn digamma_pair(x: f32) -> vec2<f32> {
    var y = x;
    var sum = vec2<f32>(0.0);
    for (var k = 0; k < 6; k++) {
        let added = pair_of_sum(sum.x, 1.0 / y);
        let step = y < 6.0;
        sum = select(sum, vec2<f32>(added.x, sum.y + added.y), step);
        y = select(y, y + 1.0, step);
    }
    let inverse = 1.0 / y;
    let z = inverse * inverse;
    let series = z * (0.083333336 + z * (-0.008333334 + z * (0.003968254 + z * -0.004166667)));
    let parts = log_parts(y);
    let logarithm = log_pair(parts.x, parts.y);
    let large = pair_of_sum(logarithm.x, -sum.x);
    return vec2<f32>(large.x, large.y + (logarithm.y - 0.5 * inverse - series - sum.y));
}

// pi cot(pi x) as two floats to add: 1 / d - 2d / (1 - d^2) - 2 (sum over k of (zeta(2k) - 1) d^(2k - 1))
// of the distance d from the nearest whole number.
fn pi_cot_pi_pair(x: f32) -> vec2<f32> {
    let d = x - round(x);
    let z = d * d;
    let series = 0.644934067 + z * (0.0823232337 + z * (0.0173430620 + z * (0.00407735620
        + z * (0.000994575128 + z * (0.000246086553 + z * 0.0000612481351)))));
    let first = pair_div(vec2<f32>(1.0, 0.0), vec2<f32>(d, 0.0));
    return vec2<f32>(first.x, first.y - 2.0 * d * (1.0 / (1.0 - z) + series));
}

fn digamma_f32(x: f32) -> f32 {
    // digamma(-a) = digamma(1 + a) + pi cot(pi a); far left both are large and cancel at the roots
    let negative = signbit_f32(x);
    let right = digamma_pair(select(x, 1.0 - x, negative));
    let both = pair_add(right, select(vec2<f32>(0.0), pi_cot_pi_pair(-x), negative));
    let side = select(both.x + both.y, x, is_inf_f32(x));
    let result = select(side, -1.0 / x, magnitude(x) < 0x30000000u);
    let undefined = signbit_f32(x) & ((trunc(x) == x) | is_inf_f32(x)) & (magnitude(x) != 0u);
    let checked = select(result, float_of(0x7fc00000u), undefined | is_nan_f32(x));
    let zero = float_of(select(0xff800000u, 0x7f800000u, signbit_f32(x)));
    return select(checked, zero, magnitude(x) == 0u);
}

// sum over k of (q + k)^-x, the Hurwitz zeta function, x > 1: ten terms, then Euler and Maclaurin.
fn zeta_f32(x: f32, q: f32) -> f32 {
    var sum = 0.0;
    var a = q;
    for (var k = 0; k < 10 || (a <= 9.0 && k < 4096); k++) {
        sum = sum + pow_f32(a, -x);
        a = a + 1.0;
    }
    let power = pow_f32(a, 1.0 - x);
    let z = 1.0 / (a * a);
    let first = x / a * 0.083333336;
    let second = (x + 1.0) * (x + 2.0) * z * -0.016666668;
    let third = (x + 3.0) * (x + 4.0) * z * -0.023809524;
    let fourth = (x + 5.0) * (x + 6.0) * z * -0.025;
    let rest = 0.5 + first * (1.0 + second * (1.0 + third * (1.0 + fourth)));
    let result = sum + power * (1.0 / (x - 1.0) + rest / a);
    let pole = (q <= 0.0) & (trunc(q) == q);
    let between = (q < 0.0) & !pole & (trunc(x) != x);
    let undefined = (x < 1.0) | between | !is_finite_f32(x) | is_nan_f32(q) | is_posinf_f32(q);
    let ended = select(result, float_of(0x7f800000u), pole | (x == 1.0));
    return select(ended, float_of(0x7fc00000u), undefined);
}

// The derivative of order n of digamma; n is a whole number.
fn polygamma_f32(n: f32, x: f32) -> f32 {
    if (n == 0.0) { return digamma_f32(x); }
    if (n == 1.0 && x > 3.4028234e38) { return 0.0; }
    var factorial = 1.0;
    for (var k = 2.0; k <= n; k = k + 1.0) { factorial = factorial * k; }
    let sign = select(-1.0, 1.0, (i32(n) & 1) != 0);
    return sign * factorial * zeta_f32(n + 1.0, x);
}
