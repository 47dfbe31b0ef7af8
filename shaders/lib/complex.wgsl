// Complex numbers: a real and an imaginary part. Cuts and infinities as C's functions have them.

alias c64 = vec2<f32>;

fn is_nan_c64(z: c64) -> bool { return is_nan_f32(z.x) | is_nan_f32(z.y); }
fn is_inf_c64(z: c64) -> bool { return is_inf_f32(z.x) | is_inf_f32(z.y); }
fn is_finite_c64(z: c64) -> bool { return is_finite_f32(z.x) & is_finite_f32(z.y); }
fn to_bool_c64(z: c64) -> bool { return to_bool_f32(z.x) | to_bool_f32(z.y); }
fn eq_c64(a: c64, b: c64) -> bool { return eq_f32(a.x, b.x) & eq_f32(a.y, b.y); }
fn ne_c64(a: c64, b: c64) -> bool { return !eq_c64(a, b); }

fn add_c64(a: c64, b: c64) -> c64 { return a + b; }
fn sub_c64(a: c64, b: c64) -> c64 { return a - b; }
fn neg_c64(z: c64) -> c64 { return -z; }
fn conj_c64(z: c64) -> c64 { return c64(z.x, -z.y); }
fn by_i_c64(z: c64) -> c64 { return c64(-z.y, z.x); }
fn parts_exchanged_c64(z: c64) -> c64 { return c64(z.y, z.x); }
fn mul_c64(a: c64, b: c64) -> c64 { return c64(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
fn square_c64(z: c64) -> c64 { return mul_c64(z, z); }

// Smith's way: nothing overflows that the quotient does not.
fn div_c64(a: c64, b: c64) -> c64 {
    let wide = abs_f32(b.x) >= abs_f32(b.y);
    let more = select(b.y, b.x, wide);
    let ratio = select(select(b.x, b.y, wide) / more, 0.0, magnitude(more) == 0u);
    let scale = more + select(b.x, b.y, wide) * ratio;
    let top = select(
        c64(a.x * ratio + a.y, a.y * ratio - a.x),
        c64(a.x + a.y * ratio, a.y - a.x * ratio),
        wide,
    );
    return c64(div_f32(top.x, scale), div_f32(top.y, scale));
}
fn reciprocal_c64(z: c64) -> c64 { return div_c64(c64(1.0, 0.0), z); }

fn abs_c64(z: c64) -> f32 { return hypot_f32(z.x, z.y); }
fn angle_c64(z: c64) -> f32 { return atan2_f32(z.y, z.x); }
fn sgn_c64(z: c64) -> c64 {
    let size = abs_c64(z);
    return select(c64(div_f32(z.x, size), div_f32(z.y, size)), c64(0.0, 0.0), magnitude(size) == 0u);
}

fn exp_c64(z: c64) -> c64 {
    let size = exp_f32(z.x);
    let turned = c64(size * cos_f32(z.y), size * sin_f32(z.y));
    let straight = select(turned, c64(size, z.y), magnitude(z.y) == 0u);
    return select(straight, c64(0.0, 0.0), is_neginf_f32(z.x));
}
fn exp2_c64(z: c64) -> c64 { return exp_c64(z * 0.6931472); }
fn expm1_c64(z: c64) -> c64 {
    let half = sin_f32(0.5 * z.y);
    let real = expm1_f32(z.x) * cos_f32(z.y) - 2.0 * half * half;
    return c64(real, exp_f32(z.x) * sin_f32(z.y));
}
// The logarithm of the length, which itself may overflow; exact where that is nearly 1.
fn log_abs_c64(z: c64) -> f32 {
    let wide = max(magnitude(z.x), magnitude(z.y)) > 0x7e800000u;
    let factor = select(1.0, 0.25, wide);
    let size = hypot_f32(z.x * factor, z.y * factor);
    let more = bitcast<f32>(max(magnitude(z.x), magnitude(z.y)));
    let less = bitcast<f32>(min(magnitude(z.x), magnitude(z.y)));
    let near = 0.5 * log1p_f32((more - 1.0) * (more + 1.0) + less * less);
    let far = log_f32(size) + select(0.0, 1.3862944, wide);
    return select(far, near, (size > 0.5) & (size < 2.0) & !wide);
}
fn log_c64(z: c64) -> c64 { return c64(log_abs_c64(z), angle_c64(z)); }
fn log2_c64(z: c64) -> c64 { return log_c64(z) * 1.442695; }
fn log10_c64(z: c64) -> c64 { return log_c64(z) * 0.4342945; }
fn log1p_c64(z: c64) -> c64 {
    let near = 0.5 * log1p_f32(z.x * (2.0 + z.x) + z.y * z.y);
    let far = log_c64(c64(1.0 + z.x, z.y));
    return c64(select(far.x, near, abs_f32(z.x) + abs_f32(z.y) < 0.5), far.y);
}

fn sqrt_c64(w: c64) -> c64 {
    let wide = max(magnitude(w.x), magnitude(w.y)) > 0x7e800000u;
    let z = w * select(1.0, 0.25, wide);
    let size = 0.5 * abs_f32(z.x) + hypot_f32(z.x * 0.5, z.y * 0.5);
    let root = sqrt_f32(size);
    let rest = select(div_f32(0.5 * z.y, root), z.y, magnitude(root) == 0u);
    let usual = select(
        c64(root, rest), c64(abs_f32(rest), copysign_f32(root, z.y)), signbit_f32(z.x),
    );
    return select(usual * select(1.0, 2.0, wide), c64(abs_f32(z.y), z.y), is_inf_f32(z.y));
}
fn rsqrt_c64(z: c64) -> c64 { return reciprocal_c64(sqrt_c64(z)); }
fn pow_c64(z: c64, w: c64) -> c64 {
    let usual = exp_c64(mul_c64(w, log_c64(z)));
    let vanishes = !to_bool_c64(z) & (magnitude(w.y) == 0u) & !signbit_f32(w.x);
    return select(select(usual, c64(0.0, 0.0), vanishes), c64(1.0, 0.0), !to_bool_c64(w));
}
fn sigmoid_c64(z: c64) -> c64 { return reciprocal_c64(c64(1.0, 0.0) + exp_c64(-z)); }

fn silu_c64(z: c64) -> c64 { return mul_c64(z, sigmoid_c64(z)); }

// x -> scale * x + shift
struct Affine_c64 { scale: c64, shift: c64 }
fn no_affine_c64() -> Affine_c64 { return Affine_c64(c64(1.0, 0.0), c64(0.0, 0.0)); }
fn affine_c64(scale: c64, shift: c64) -> Affine_c64 { return Affine_c64(scale, shift); }
fn after_c64(a: Affine_c64, b: Affine_c64) -> Affine_c64 {
    return Affine_c64(mul_c64(b.scale, a.scale), mul_c64(b.scale, a.shift) + b.shift);
}

fn sinh_c64(z: c64) -> c64 {
    let real = sinh_f32(z.x) * cos_f32(z.y);
    return c64(real, select(cosh_f32(z.x) * sin_f32(z.y), z.y, magnitude(z.y) == 0u));
}
fn cosh_c64(z: c64) -> c64 {
    let flat = (magnitude(z.x) == 0u) | (magnitude(z.y) == 0u);
    let rise = select(sinh_f32(z.x) * sin_f32(z.y), copysign_f32(0.0, z.y) * sign_f32(z.x), flat);
    return c64(cosh_f32(z.x) * cos_f32(z.y), rise);
}
// Kahan's way: for large x the slope that is left is 4 e^-2|x| sin y cos y.
fn tanh_c64(z: c64) -> c64 {
    let far = abs_f32(z.x) > 11.0;
    let x = select(z.x, 0.0, far);
    let slope = tan_f32(z.y);
    let beta = 1.0 + slope * slope;
    let s = sinh_f32(x);
    let below = 1.0 + beta * s * s;
    let near = c64(div_f32(beta * sqrt_f32(1.0 + s * s) * s, below), div_f32(slope, below));
    let fades = exp_f32(-2.0 * abs_f32(z.x));
    let rest = select(4.0 * sin_f32(z.y) * cos_f32(z.y) * fades, 0.0, magnitude(fades) == 0u);
    return select(near, c64(copysign_f32(1.0, z.x), rest), far);
}
fn sin_c64(z: c64) -> c64 {
    let w = sinh_c64(c64(-z.y, z.x));
    return c64(w.y, -w.x);
}
fn cos_c64(z: c64) -> c64 { return cosh_c64(c64(-z.y, z.x)); }
fn sinc_c64(z: c64) -> c64 {
    let turn = z * 3.1415927;
    let real = sin_pi(z.x, 0u) * cosh_f32(turn.y);
    let sine = c64(real, sin_pi(z.x, 1u) * sinh_f32(turn.y));
    return select(div_c64(sine, turn), c64(1.0, 0.0), !to_bool_c64(z));
}
fn tan_c64(z: c64) -> c64 {
    let w = tanh_c64(c64(-z.y, z.x));
    return c64(w.y, -w.x);
}

// Kahan: Branch cuts for complex elementary functions (1987). Where squares would overflow, what
// the functions come to.
fn is_far_c64(z: c64) -> bool {
    return (max(magnitude(z.x), magnitude(z.y)) > 0x51000000u) & (is_inf_c64(z) | !is_nan_c64(z));
}
fn asin_c64(z: c64) -> c64 {
    let below = sqrt_c64(c64(1.0 - z.x, -z.y));
    let above = sqrt_c64(c64(1.0 + z.x, z.y));
    let real = atan2_f32(z.x, below.x * above.x - below.y * above.y);
    let near = c64(real, asinh_f32(below.x * above.y - below.y * above.x));
    let far = c64(atan2_f32(z.x, abs_f32(z.y)), copysign_f32(log_abs_c64(z) + 0.6931472, z.y));
    return select(near, far, is_far_c64(z));
}
fn acos_c64(z: c64) -> c64 {
    let below = sqrt_c64(c64(1.0 - z.x, -z.y));
    let above = sqrt_c64(c64(1.0 + z.x, z.y));
    let imaginary = asinh_f32(above.x * below.y - above.y * below.x);
    let near = c64(2.0 * atan2_f32(below.x, above.x), imaginary);
    let far = c64(atan2_f32(abs_f32(z.y), z.x), copysign_f32(log_abs_c64(z) + 0.6931472, -z.y));
    return select(near, far, is_far_c64(z));
}
fn acosh_c64(z: c64) -> c64 {
    let below = sqrt_c64(c64(z.x - 1.0, z.y));
    let above = sqrt_c64(c64(z.x + 1.0, z.y));
    let real = asinh_f32(below.x * above.x + below.y * above.y);
    let near = c64(real, 2.0 * atan2_f32(below.y, above.x));
    return select(near, c64(log_abs_c64(z) + 0.6931472, angle_c64(z)), is_far_c64(z));
}
fn atanh_c64(z: c64) -> c64 {
    let x = abs_f32(z.x);
    let left = 1.0 - x;
    let real = 0.25 * log1p_f32(div_f32(4.0 * x, left * left + z.y * z.y));
    let turn = 0.5 * atan2_f32(2.0 * z.y, left * (1.0 + x) - z.y * z.y);
    let size = abs_c64(z);
    let fades = select(div_f32(div_f32(x, size), size), 0.0, is_inf_f32(size));
    let far = is_far_c64(z);
    let imaginary = select(turn, copysign_f32(1.5707964, z.y), far);
    return c64(copysign_f32(select(real, fades, far), z.x), imaginary);
}
fn asinh_c64(z: c64) -> c64 { return by_i_c64(asin_c64(c64(z.y, -z.x))); }
fn atan_c64(z: c64) -> c64 {
    let w = atanh_c64(c64(-z.y, z.x));
    return c64(w.y, -w.x);
}
