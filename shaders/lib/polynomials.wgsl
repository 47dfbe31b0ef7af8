// Orthogonal polynomials by their recurrences, in pairs of floats (Abramowitz and Stegun, 22.7).

// p(n), where p(0) = 1, p(1) = first.x y + first.y, and with a(k) = (times.x + k times.y) y
// + (times.z + k times.w), c(k) = less.x + k less.y:
//     p(k + 1) = (a(k) p(k) - c(k) p(k - 1)) / (1 + k divides)
// y is x, or 2 x - 1. What grows beyond 2^40 is counted in powers of 2^80: later terms may be
// smaller, and beyond all bounds only the sign is wanted. Above order 65536 the result is NaN.
fn polynomial_f32(x: f32, n: f32, first: vec2<f32>, times: vec4<f32>, less: vec2<f32>,
    divides: f32, shifted: bool) -> f32 {
    let order = trunc(n);
    if (!(is_finite_f32(n) & (order <= 65536.0))) { return float_of(0x7fc00000u); }
    if (order < 1.0) { return select(1.0, 0.0, order < 0.0); }
    if (is_nan_f32(x)) { return x; }
    let bounded = clamp(x, -7.4e19, 7.4e19);  // where every p(2) is infinite
    let doubled = pair_of_sum(2.0 * bounded, -1.0);
    let y = select(vec2<f32>(bounded, 0.0), doubled, shifted);
    var before = vec2<f32>(1.0, 0.0);
    var p = pair_affine(y, first.x, first.y);
    if (order < 2.0) { return (p.x + p.y) * max(abs(x) / 7.4e19, 1.0); }
    var scaled = 0;
    for (var k = 1.0; k < order; k = k + 1.0) {
        if (abs(p.x) > 1.0995116e12) {
            p = p * 8.271806125530277e-25;
            before = before * 8.271806125530277e-25;
            scaled = min(scaled + 80, 240);
        }
        let a = pair_affine(y, times.x + k * times.y, times.z + k * times.w);
        let c = vec2<f32>(-(less.x + k * less.y), 0.0);
        let sum = pair_add(pair_mul(a, p), pair_mul(c, before));
        before = p;
        p = sum;
        if (divides > 0.0) { p = pair_div(sum, vec2<f32>(1.0 + k, 0.0)); }
    }
    return scale_f32(p.x + p.y, scaled);  // compilers join 2^80 * 2^80, which is infinite
}

fn pair_affine(y: vec2<f32>, slope: f32, offset: f32) -> vec2<f32> {
    return pair_add(pair_mul(y, vec2<f32>(slope, 0.0)), vec2<f32>(offset, 0.0));
}
