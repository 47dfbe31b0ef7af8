// Float64 tests, comparisons, selections and exact arithmetic, for adapters with f64 and i64.
//
// The names and results of floats.wgsl. Exponentials and their kin have no such variant: an op that
// needs one says so.

fn bits_f64(x: f64) -> i64 { return bitcast<i64>(x); }
fn f64_of_bits(bits: i64) -> f64 { return bitcast<f64>(bits); }
fn magnitude_f64(x: f64) -> i64 { return bits_f64(x) & 0x7fffffffffffffffli; }
fn infinity_f64() -> f64 { return f64_of_bits(0x7ff0000000000000li); }
fn nan_f64() -> f64 { return f64_of_bits(0x7ff8000000000000li); }

fn is_nan_f64(x: f64) -> bool { return magnitude_f64(x) > 0x7ff0000000000000li; }
fn is_inf_f64(x: f64) -> bool { return magnitude_f64(x) == 0x7ff0000000000000li; }
fn is_finite_f64(x: f64) -> bool { return magnitude_f64(x) < 0x7ff0000000000000li; }
fn is_posinf_f64(x: f64) -> bool { return bits_f64(x) == 0x7ff0000000000000li; }
fn is_neginf_f64(x: f64) -> bool { return is_inf_f64(x) & signbit_f64(x); }
fn signbit_f64(x: f64) -> bool { return bits_f64(x) < 0li; }
fn to_bool_f64(x: f64) -> bool { return magnitude_f64(x) != 0li; }

fn order_f64(x: f64) -> i64 {
    let size = magnitude_f64(x);
    return select(size, 0li - size, signbit_f64(x));
}

fn eq_f64(x: f64, y: f64) -> bool { return (order_f64(x) == order_f64(y)) & !is_nan_f64(x); }
fn ne_f64(x: f64, y: f64) -> bool { return !eq_f64(x, y); }
fn lt_f64(x: f64, y: f64) -> bool {
    return (order_f64(x) < order_f64(y)) & !is_nan_f64(x) & !is_nan_f64(y);
}
fn le_f64(x: f64, y: f64) -> bool {
    return (order_f64(x) <= order_f64(y)) & !is_nan_f64(x) & !is_nan_f64(y);
}
fn gt_f64(x: f64, y: f64) -> bool { return lt_f64(y, x); }
fn ge_f64(x: f64, y: f64) -> bool { return le_f64(y, x); }

fn maximum_f64(x: f64, y: f64) -> f64 {
    return select(x, y, ((order_f64(y) > order_f64(x)) | is_nan_f64(y)) & !is_nan_f64(x));
}
fn minimum_f64(x: f64, y: f64) -> f64 {
    return select(x, y, ((order_f64(y) < order_f64(x)) | is_nan_f64(y)) & !is_nan_f64(x));
}
fn fmax_f64(x: f64, y: f64) -> f64 {
    return select(x, y, ((order_f64(y) > order_f64(x)) | is_nan_f64(x)) & !is_nan_f64(y));
}
fn fmin_f64(x: f64, y: f64) -> f64 {
    return select(x, y, ((order_f64(y) < order_f64(x)) | is_nan_f64(x)) & !is_nan_f64(y));
}
fn clamp_f64(x: f64, low: f64, high: f64) -> f64 {
    return minimum_f64(maximum_f64(x, low), high);
}
fn clamp_min_f64(x: f64, low: f64) -> f64 { return maximum_f64(x, low); }
fn clamp_max_f64(x: f64, high: f64) -> f64 { return minimum_f64(x, high); }
fn relu_f64(x: f64) -> f64 { return select(x, 0.0lf, lt_f64(x, 0.0lf)); }
fn sign_f64(x: f64) -> f64 {
    let one = copysign_f64(1.0lf, x);
    return select(0.0lf, one, to_bool_f64(x) & !is_nan_f64(x));
}
fn copysign_f64(x: f64, y: f64) -> f64 {
    let size = magnitude_f64(x);
    return f64_of_bits(select(size, size | (-0x7fffffffffffffffli - 1li), signbit_f64(y)));
}
fn abs_f64(x: f64) -> f64 { return f64_of_bits(magnitude_f64(x)); }

fn square_f64(x: f64) -> f64 { return x * x; }
fn frac_f64(x: f64) -> f64 { return x - trunc(x); }
fn div_f64(x: f64, y: f64) -> f64 { return x / y; }
fn reciprocal_f64(x: f64) -> f64 { return 1.0lf / x; }
fn rsqrt_f64(x: f64) -> f64 { return 1.0lf / sqrt(x); }
fn trunc_div_f64(x: f64, y: f64) -> f64 { return trunc(x / y); }

// As fmod_f32, ten bits of the quotient at a time.
fn fmod_f64(x: f64, y: f64) -> f64 {
    let a = magnitude_f64(x);
    let b = magnitude_f64(y);
    if (b == 0li || is_nan_f64(y) || !is_finite_f64(x)) { return nan_f64(); }
    if (a < b) { return x; }
    let implied = 0x10000000000000li;
    let ea = max(i32(a >> 52u), 1);
    let eb = max(i32(b >> 52u), 1);
    let mb = (b & (implied - 1li)) | select(0li, implied, b >= implied);
    var rest = (a & (implied - 1li)) | select(0li, implied, a >= implied);
    rest = rest % mb;
    for (var left = ea - eb; left > 0 && rest != 0li;) {
        let step = min(left, 10);
        rest = (rest << u32(step)) % mb;
        left = left - step;
    }
    return copysign_f64(f64_of_bits(double_bits(rest, eb)), x);
}

// Bits of mantissa * 2^(exponent - 1075), for a mantissa below 2^53; exact.
fn double_bits(mantissa: i64, exponent: i32) -> i64 {
    var m = mantissa;
    var e = exponent;
    while (m != 0li && m < 0x10000000000000li && e > 1) {
        m = m << 1u;
        e = e - 1;
    }
    return select(m, (m & 0xfffffffffffffli) | (i64(e) << 52u), m >= 0x10000000000000li);
}

fn floor_mod_f64(x: f64, y: f64) -> f64 {
    let rest = fmod_f64(x, y);
    let other_side = to_bool_f64(rest) & (signbit_f64(rest) != signbit_f64(y));
    return select(rest, rest + y, other_side & !is_nan_f64(rest));
}

fn floor_div_f64(x: f64, y: f64) -> f64 {
    let rest = fmod_f64(x, y);
    let other_side = to_bool_f64(rest) & (signbit_f64(rest) != signbit_f64(y));
    let quotient = (x - rest) / y - select(0.0lf, 1.0lf, other_side);
    let whole = floor(quotient);
    let rounded = whole + select(0.0lf, 1.0lf, quotient - whole > 0.5lf);
    let zero = copysign_f64(0.0lf, select(x, -x, signbit_f64(y)));
    let result = select(zero, rounded, to_bool_f64(quotient));
    return select(select(result, rest, is_nan_f64(rest)), x / y, !to_bool_f64(y));
}
