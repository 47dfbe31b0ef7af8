// Bessel functions of real order 0 and 1, and Airy's: polynomials near 0, beyond it the asymptotic
// forms of Abramowitz and Stegun, 9.2, 9.7 and 10.4, with polynomials for what is left.
//
// Relative errors stay below 1e-6, absolute ones where functions oscillate.

// Modified Bessel functions: even powers up to 8, beyond it e^a / sqrt(a) times a series in 1 / a.
fn bessel_i0_near(a: f32) -> f32 {
    let z = 0.25 * a * a;
    return 1.0 + z * (1.0000001 + z * (0.24999946 + z * (0.027778525 + z * (0.0017356408
        + z * (6.960137e-5 + z * (1.8990602e-6 + z * (4.2722117e-8
        + z * (4.000466e-10 + z * 1.4651582e-11))))))));
}

fn bessel_i1_near(a: f32) -> f32 {
    let z = 0.25 * a * a;
    return 0.5 * a * (1.0 + z * (0.5 + z * (0.083333306 + z * (0.0069444985 + z * (0.0003471837
        + z * (1.1587602e-5 + z * (2.7293606e-7 + z * (5.2185616e-9
        + z * (4.922589e-11 + z * 1.3882567e-12)))))))));
}

fn bessel_i0_far(a: f32) -> f32 {
    let u = 1.0 / a;
    return (0.39894226 + u * (0.04987563 + u * (0.0275036 + u * (0.04280426
        + u * (-0.09749675 + u * 0.6584275))))) * inverseSqrt(a);
}

fn bessel_i1_far(a: f32) -> f32 {
    let u = 1.0 / a;
    return (0.3989423 + u * (-0.14960788 + u * (-0.04644303 + u * (-0.04883124
        + u * (0.03244152 + u * -0.5214807))))) * inverseSqrt(a);
}

// e^a in two halves: the product with the small series is finite where e^a alone is not.
fn times_exp(x: f32, a: f32) -> f32 {
    let half = exp_parts(0.5 * min(a, 200.0), 0.0, 0);
    return held_f32(x * half) * half;
}

fn i0_f32(x: f32) -> f32 {
    let a = abs(x);
    let far = times_exp(bessel_i0_far(min(a, 200.0)), a);
    return select(select(far, bessel_i0_near(a), a < 7.8), x, is_nan_f32(x));
}

fn i0e_f32(x: f32) -> f32 {
    let a = abs(x);
    let near = exp_f32(-a) * bessel_i0_near(min(a, 8.0));
    return select(select(bessel_i0_far(a), near, a < 7.8), x, is_nan_f32(x));
}

fn i1_f32(x: f32) -> f32 {
    let a = abs(x);
    let far = times_exp(bessel_i1_far(min(a, 200.0)), a);
    let result = copysign_f32(select(far, bessel_i1_near(a), a < 7.8), x);
    return select(result, x, is_nan_f32(x));
}

fn i1e_f32(x: f32) -> f32 {
    let a = abs(x);
    let near = exp_f32(-a) * bessel_i1_near(min(a, 8.0));
    let result = copysign_f32(select(bessel_i1_far(a), near, a < 7.8), x);
    return select(result, x, is_nan_f32(x));
}

// I0, I1 / x, and the regular parts of K0 + log(x / 2) I0 and (K1 - 1 / x - log(x / 2) I1) / x
// for x <= 1.5, all of z = x^2 / 4.
fn bessel_i0_small(z: f32) -> f32 {
    return 1.0 + z * (1.0 + z * (0.24999931 + z * (0.027780913 + z * (0.0017297716
        + z * 7.525117e-5))));
}

fn bessel_i1_small(z: f32) -> f32 {
    return 0.5 + z * (0.25 + z * (0.041666612 + z * (0.003472458 + z * (0.00017314522
        + z * 6.206358e-6))));
}

fn log_of_half(x: f32) -> f32 {
    let small = x < 1.0e-30;  // whose half may be 0
    return log_f32(select(0.5 * x, x, small)) - select(0.0, 0.6931472, small);
}

fn bessel_k0_near(x: f32) -> f32 {
    let z = 0.25 * x * x;
    let regular = -0.5772157 + z * (0.42278448 + z * (0.2306945 + z * (0.0348989
        + z * (0.002601885 + z * 0.0001297866))));
    return regular - log_of_half(x) * bessel_i0_small(z);
}

fn bessel_k1_near(x: f32) -> f32 {
    let z = 0.25 * x * x;
    let regular = 0.038607832 + z * (-0.1681961 + z * (-0.045393676 + z * (-0.004796043
        + z * (-0.00027789015 + z * -1.1189366e-5))));
    return div_f32(1.0, x) + x * (regular + log_of_half(x) * bessel_i1_small(z));
}

// K(x) e^x for x >= 1.5, of u = 1 / x - 0.33
fn bessel_k0_far(x: f32) -> f32 {
    let u = 1.0 / x - 0.33;
    return rsqrt_f32(x) * (1.2089483 + u * (-0.117063455 + u * (0.04202045 + u * (-0.023944993
        + u * (0.017647177 + u * (-0.014529656 + u * (0.013542716 + u * (-0.024234485
        + u * 0.03127635))))))));
}

fn bessel_k1_far(x: f32) -> f32 {
    let u = 1.0 / x - 0.33;
    return rsqrt_f32(x) * (1.3956765 + u * (0.399985 + u * (-0.07898519 + u * (0.037511878
        + u * (-0.025241101 + u * (0.019768167 + u * (-0.017552493 + u * (0.030210571
        + u * -0.03928345))))))));
}

// Infinite at 0, none below.
fn of_positive(x: f32, y: f32, at_zero: f32) -> f32 {
    let result = select(y, at_zero, magnitude(x) == 0u);
    return select(result, float_of(0x7fc00000u), lt_f32(x, 0.0) | is_nan_f32(x));
}

fn times_exp_minus(y: f32, x: f32) -> f32 {
    let half = exp_parts(-0.5 * min(x, 220.0), 0.0, 0);
    return held_f32(y * half) * half;
}

fn k0_f32(x: f32) -> f32 {
    let result = select(times_exp_minus(bessel_k0_far(x), x), bessel_k0_near(x), x < 1.5);
    return of_positive(x, result, float_of(0x7f800000u));
}

fn k0e_f32(x: f32) -> f32 {
    let near = bessel_k0_near(x) * exp_f32(min(x, 1.5));
    return of_positive(x, select(bessel_k0_far(x), near, x < 1.5), float_of(0x7f800000u));
}

fn k1_f32(x: f32) -> f32 {
    let result = select(times_exp_minus(bessel_k1_far(x), x), bessel_k1_near(x), x < 1.5);
    return of_positive(x, result, float_of(0x7f800000u));
}

fn k1e_f32(x: f32) -> f32 {
    let near = bessel_k1_near(x) * exp_f32(min(x, 1.5));
    return of_positive(x, select(bessel_k1_far(x), near, x < 1.5), float_of(0x7f800000u));
}

// Bessel functions of the first and second kind: up to 4 polynomials of s = x^2 / 8 - 1, beyond it
// sqrt(2 / (pi x)) (P cos(t) - Q sin(t)) and (P sin(t) + Q cos(t)), with a phase t.
fn bessel_j0_near(s: f32) -> f32 {
    return -0.19654809 + s * (-0.56596 + s * (0.47952807 + s * (-0.13103206 + s * (0.0183527
        + s * (-0.0015789488 + s * (9.228157e-5 + s * (-3.9174947e-6 + s * 1.2595089e-7)))))));
}

// J1(x) / x
fn bessel_j1_near(s: f32) -> f32 {
    return 0.14149 + s * (-0.23976403 + s * (0.098274045 + s * (-0.0183527 + s * (0.0019736926
        + s * (-0.00013842234 + s * (6.8430904e-6 + s * (-2.5190997e-7 + s * 7.15747e-9)))))));
}

fn bessel_y0_near(x: f32, s: f32) -> f32 {
    let regular = 0.4716529 + s * (-0.19881415 + s * (-0.19209518 + s * (0.09257582
        + s * (-0.016561598 + s * (0.0016549503 + s * (-0.00010749267 + s * (4.946806e-6
        + s * -1.6962106e-7)))))));
    return regular + 0.63661975 * log_of_half(x) * bessel_j0_near(s);
}

fn bessel_y1_near(x: f32, s: f32) -> f32 {
    let regular = 0.14492181 + s * (0.04586698 + s * (-0.057410885 + s * (0.014967822
        + s * (-0.0019353833 + s * (0.000153574 + s * (-8.317675e-6 + s * (3.289757e-7
        + s * -9.909361e-9)))))));
    let whole = regular + 0.63661975 * log_of_half(x) * bessel_j1_near(s);
    return x * whole - div_f32(0.63661975, x);
}

// (P, Q) / sqrt(pi x) for x >= 4
fn bessel_far_0(x: f32) -> vec2<f32> {
    let inverse = 1.0 / x;
    let u = 16.0 * inverse * inverse;
    let p = 1.0 + u * (-0.004394303 + u * (0.00043495826 + u * (-0.00012288756
        + u * (4.4262375e-5 + u * -9.586043e-6))));
    let q = -0.12499999 + u * (0.0045766938 + u * (-0.00087387563 + u * (0.00034796738
        + u * (-0.00014748763 + u * 3.4364923e-5))));
    return vec2<f32>(p, q * inverse) * (0.5641896 * rsqrt_f32(x));
}

fn bessel_far_1(x: f32) -> vec2<f32> {
    let inverse = 1.0 / x;
    let u = 16.0 * inverse * inverse;
    let p = 1.0 + u * (0.007323963 + u * (-0.00055975356 + u * (0.00014632857
        + u * (-5.122531e-5 + u * 1.0974825e-5))));
    let q = 0.375 + u * (-0.006407641 + u * (0.001069532 + u * (-0.0004048465
        + u * (0.00016820997 + u * -3.8873844e-5))));
    return vec2<f32>(p, q * inverse) * (0.5641896 * rsqrt_f32(x));
}

// (x^2 / 8 - 1), x bounded
fn bessel_place(x: f32) -> f32 {
    let bounded = min(abs(x), 4.0);
    return 0.125 * bounded * bounded - 1.0;
}

// sqrt(2) (cos(x - pi / 4), sin(x - pi / 4)); the phase of order 1 is another quarter behind
fn bessel_phase(x: f32) -> vec2<f32> {
    let c = cos_f32(x);
    let s = sin_f32(x);
    return vec2<f32>(c + s, s - c);
}

fn bessel_j0_f32(x: f32) -> f32 {
    let a = abs(x);
    let m = bessel_far_0(a) * bessel_phase(a);
    return select(m.x - m.y, bessel_j0_near(bessel_place(a)), a < 4.0);
}

fn bessel_j1_f32(x: f32) -> f32 {
    let a = abs(x);
    let m = bessel_far_1(a) * bessel_phase(a).yx;
    let result = select(m.x + m.y, a * bessel_j1_near(bessel_place(a)), a < 4.0);
    let signed = bitcast<f32>(bitcast<u32>(result) ^ (bitcast<u32>(x) & 0x80000000u));
    return select(signed, x, is_nan_f32(x) | (magnitude(x) == 0u));
}

fn bessel_y0_f32(x: f32) -> f32 {
    let m = bessel_far_0(x) * bessel_phase(x).yx;
    let result = select(m.x + m.y, bessel_y0_near(x, bessel_place(x)), x < 4.0);
    return of_positive(x, result, float_of(0xff800000u));
}

fn bessel_y1_f32(x: f32) -> f32 {
    let m = bessel_far_1(x) * bessel_phase(x);
    let result = select(m.y - m.x, bessel_y1_near(x, bessel_place(x)), x < 4.0);
    return of_positive(x, result, float_of(0xff800000u));
}

// sin(x) / x
fn spherical_bessel_j0_f32(x: f32) -> f32 {
    let result = select(sin_f32(x) / x, 0.0, is_inf_f32(x));
    return select(result, 1.0, magnitude(x) < 0x38000000u);
}

// (z, w): z + w = 2/3 a^(3/2)
fn airy_phase(a: f32) -> vec2<f32> {
    let cubed = pair_mul(pair_sqrt(a), vec2<f32>(a, 0.0));
    return pair_mul(cubed, vec2<f32>(0.6666667, -1.9868216e-8));
}

fn airy_near(x: f32) -> f32 {
    let s = x + 0.5;
    return 0.47572803 + s * (-0.20408225 + s * (-0.11893089 + s * (0.09629794 + s * (-0.012055148
        + s * (-0.008359007 + s * (0.003415624 + s * (-0.00018393938 + s * (-0.00018270809
        + s * (4.748642e-5 + s * (-8.192488e-8 + s * (-1.6906209e-6 + s * 2.0687294e-7)))))))))));
}

fn airy_right(x: f32) -> f32 {
    let z = airy_phase(x);
    let root = sqrt(x);
    let t = 1.0 / (x * root) - 0.27;
    let p = 0.27541924 + t * (-0.021205513 + t * (0.010104094 + t * (-0.0077733765
        + t * (0.007395849 + t * (-0.00817608 + t * (0.016928993 + t * -0.02752779))))));
    let half = exp_parts(-0.5 * z.x, -0.5 * z.y, 0);
    return held_f32(p * inverseSqrt(root) * half) * half;
}

fn airy_left(a: f32) -> f32 {
    let z = airy_phase(a);
    let c = cos_f32(z.x) * cos_f32(z.y) - sin_f32(z.x) * sin_f32(z.y);
    let s = sin_f32(z.x) * cos_f32(z.y) + cos_f32(z.x) * sin_f32(z.y);
    let inverse = 1.0 / (a * sqrt(a));
    let u = inverse * inverse;
    let p = 0.56418955 + u * (-0.04711291 + u * (0.15869534 + u * (-1.2934413
        + u * (10.259605 + u * -41.178112))));
    let q = 0.058769654 + u * (-0.07220808 + u * (0.4642307 + u * (-5.045441
        + u * (45.16205 + u * -191.4743))));
    return 0.70710677 * inverseSqrt(sqrt(a)) * ((c + s) * p + (s - c) * (q * inverse));
}

// No digit is left below -2^20.
fn airy_ai_f32(x: f32) -> f32 {
    if (!is_finite_f32(x) || x < -1048576.0) { return float_of(0x7fc00000u); }
    if (x > 30.0) { return 0.0; }
    if (x > 1.5) { return airy_right(x); }
    if (x > -2.5) { return airy_near(x); }
    return airy_left(-x);
}
