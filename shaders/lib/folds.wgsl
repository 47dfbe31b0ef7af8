// What reductions carry where one number is not enough, and how two of those become one.

// Whether b beats a. NaN beats all but NaN; nothing beats its equal.
fn above_f32(a: f32, b: f32) -> bool {
    return ((order_f32(b) > order_f32(a)) | is_nan_f32(b)) & !is_nan_f32(a);
}
fn below_f32(a: f32, b: f32) -> bool {
    return ((order_f32(b) < order_f32(a)) | is_nan_f32(b)) & !is_nan_f32(a);
}
fn above_i32(a: i32, b: i32) -> bool { return b > a; }
fn below_i32(a: i32, b: i32) -> bool { return b < a; }
fn above_i64(a: i64, b: i64) -> bool { return b > a; }
fn below_i64(a: i64, b: i64) -> bool { return b < a; }
fn above_i64e(a: vec2<u32>, b: vec2<u32>) -> bool { return i64_lt(a, b); }
fn below_i64e(a: vec2<u32>, b: vec2<u32>) -> bool { return i64_lt(b, a); }
fn above_f64(a: f64, b: f64) -> bool { return (gt_f64(b, a) | is_nan_f64(b)) & !is_nan_f64(a); }
fn below_f64(a: f64, b: f64) -> bool { return (lt_f64(b, a) | is_nan_f64(b)) & !is_nan_f64(a); }

fn nan_as_zero_f32(x: f32) -> f32 { return select(x, 0.0, is_nan_f32(x)); }

// Of n turns, how many a thread joins before it joins what they came to: about the root of n, or
// the third root where loops are three deep.
fn turns(n: u32) -> u32 { return max(8u, 1u << ((32u - countLeadingZeros(n)) / 2u)); }
fn few_turns(n: u32) -> u32 { return max(32u, 1u << ((32u - countLeadingZeros(n)) / 3u)); }

// Where a row's turn from k on ends: what turns come to is added, not every element to all before.
fn turn_end(k: u32, count: u32) -> u32 { return min(k + 64u, count); }

// Mean and sum of squared distances from it (Chan, Golub and LeVeque 1979).
struct Moments_f32 { count: f32, mean: f32, spread: f32 }
fn no_moments_f32() -> Moments_f32 { return Moments_f32(0.0, 0.0, 0.0); }
fn moments_of_f32(x: f32) -> Moments_f32 { return Moments_f32(1.0, x, 0.0); }
fn merge_moments_f32(a: Moments_f32, b: Moments_f32) -> Moments_f32 {
    let count = a.count + b.count;
    let share = b.count / max(count, 1.0);
    let gap = b.mean - a.mean;
    let mean = a.mean + gap * share;
    return Moments_f32(count, mean, a.spread + b.spread + gap * gap * (a.count * share));
}
fn mean_of_f32(a: Moments_f32) -> f32 {
    return select(a.mean, float_of(0x7fc00000u), a.count == 0.0);
}
fn variance_f32(a: Moments_f32, correction: f32) -> f32 {
    return a.spread / max(a.count - correction, 0.0);
}
fn deviation_f32(a: Moments_f32, correction: f32) -> f32 {
    return sqrt_f32(variance_f32(a, correction));
}

// The sum of exponentials as total * e^peak, peak the largest exponent.
struct Peak_f32 { peak: f32, total: f32 }
fn no_peak_f32() -> Peak_f32 { return Peak_f32(float_of(0xff800000u), 0.0); }
fn peak_of_f32(x: f32) -> Peak_f32 { return Peak_f32(x, 1.0); }
fn merge_peaks_f32(a: Peak_f32, b: Peak_f32) -> Peak_f32 {
    let takes_b = above_f32(a.peak, b.peak);
    let same = bitcast<u32>(a.peak) == bitcast<u32>(b.peak);  // the gap of infinities is NaN
    let fall = select(exp_f32(-abs_f32(a.peak - b.peak)), 1.0, same);
    let far = select(b.total, a.total, takes_b);
    return Peak_f32(select(a.peak, b.peak, takes_b), select(a.total, b.total, takes_b) + far * fall);
}
fn log_of_peak_f32(a: Peak_f32) -> f32 { return a.peak + log_f32(a.total); }

// x -> scale * x + shift
struct Affine_f32 { scale: f32, shift: f32 }
fn no_affine_f32() -> Affine_f32 { return Affine_f32(1.0, 0.0); }
fn affine_f32(scale: f32, shift: f32) -> Affine_f32 { return Affine_f32(scale, shift); }
fn after_f32(a: Affine_f32, b: Affine_f32) -> Affine_f32 {
    return Affine_f32(b.scale * a.scale, b.scale * a.shift + b.shift);
}
