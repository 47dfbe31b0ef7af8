// 64-bit integers where the adapter has them: the functions of int64.wgsl over WGSL's own type.

fn words_of_i64(x: i64) -> vec2<u32> {
    return vec2<u32>(u32(x & 0xffffffffli), u32((x >> 32u) & 0xffffffffli));
}

fn maximum_i64(x: i64, y: i64) -> i64 { return select(x, y, x < y); }
fn minimum_i64(x: i64, y: i64) -> i64 { return select(x, y, y < x); }
fn fmax_i64(x: i64, y: i64) -> i64 { return maximum_i64(x, y); }
fn fmin_i64(x: i64, y: i64) -> i64 { return minimum_i64(x, y); }
fn max_i64(x: i64, y: i64) -> i64 { return maximum_i64(x, y); }
fn min_i64(x: i64, y: i64) -> i64 { return minimum_i64(x, y); }
fn clamp_i64(x: i64, low: i64, high: i64) -> i64 {
    return minimum_i64(maximum_i64(x, low), high);
}
fn clamp_min_i64(x: i64, low: i64) -> i64 { return maximum_i64(x, low); }
fn clamp_max_i64(x: i64, high: i64) -> i64 { return minimum_i64(x, high); }
fn relu_i64(x: i64) -> i64 { return select(x, 0li, x < 0li); }
fn abs_i64(x: i64) -> i64 { return select(x, 0li - x, x < 0li); }
fn sign_i64(x: i64) -> i64 { return select(select(0li, 1li, x > 0li), -1li, x < 0li); }
fn signbit_i64(x: i64) -> bool { return x < 0li; }
fn square_i64(x: i64) -> i64 { return x * x; }
fn eq_i64(x: i64, y: i64) -> bool { return x == y; }
fn ne_i64(x: i64, y: i64) -> bool { return x != y; }
fn lt_i64(x: i64, y: i64) -> bool { return x < y; }
fn le_i64(x: i64, y: i64) -> bool { return x <= y; }
fn gt_i64(x: i64, y: i64) -> bool { return x > y; }
fn ge_i64(x: i64, y: i64) -> bool { return x >= y; }
fn round_i64(x: i64) -> i64 { return x; }
fn floor_i64(x: i64) -> i64 { return x; }
fn ceil_i64(x: i64) -> i64 { return x; }
fn trunc_i64(x: i64) -> i64 { return x; }
fn is_nan_i64(x: i64) -> bool { return false; }
fn is_inf_i64(x: i64) -> bool { return false; }
fn is_posinf_i64(x: i64) -> bool { return false; }
fn is_neginf_i64(x: i64) -> bool { return false; }
fn is_finite_i64(x: i64) -> bool { return true; }

fn divisor_i64(y: i64) -> i64 { return select(y, 1li, (y == 0li) | (y == -1li)); }
fn trunc_div_i64(x: i64, y: i64) -> i64 {
    return select(select(x / divisor_i64(y), 0li - x, y == -1li), 0li, y == 0li);
}
fn fmod_i64(x: i64, y: i64) -> i64 { return x - (x / divisor_i64(y)) * divisor_i64(y); }
fn floor_div_i64(x: i64, y: i64) -> i64 {
    let rest = fmod_i64(x, y);
    return trunc_div_i64(x, y) - select(0li, 1li, (rest != 0li) & ((rest < 0li) != (y < 0li)));
}
fn floor_mod_i64(x: i64, y: i64) -> i64 {
    let rest = fmod_i64(x, y);
    return rest + select(0li, y, (rest != 0li) & ((rest < 0li) != (y < 0li)));
}

fn shl_i64(x: i64, n: i64) -> i64 {
    return select(0li, x << (u32(n & 63li)), (n >= 0li) & (n < 64li));
}
fn shr_i64(x: i64, n: i64) -> i64 {
    return x >> select(63u, u32(n & 63li), (n >= 0li) & (n < 64li));
}

fn pow_i64(x: i64, y: i64) -> i64 {
    if (y < 0li) { return select(select(0li, 1li - ((y & 1li) << 1u), x == -1li), 1li, x == 1li); }
    var result = 1li;
    var base = x;
    for (var left = y; left != 0li; left = left >> 1u) {
        if ((left & 1li) != 0li) { result = result * base; }
        base = base * base;
    }
    return result;
}

fn gcd_i64(x: i64, y: i64) -> i64 {
    var a = abs_i64(x);
    var b = abs_i64(y);
    while (b != 0li) {
        let rest = abs_i64(a % b);
        a = b;
        b = rest;
    }
    return a;
}
fn lcm_i64(x: i64, y: i64) -> i64 { return abs_i64(trunc_div_i64(x, gcd_i64(x, y)) * y); }

// By words: a native conversion saturates where PyTorch's CPU gives the smallest integer.
fn to_i64_f32(x: f32) -> i64 { return i64_of_words(i64_from_f32(x)); }

// i64(x), of which Mesa 22 compares constants wrongly: i64(-1i) < 0li is false there.
fn i64_of_i32(x: i32) -> i64 { return i64_of_words(i64_from_i32(x)); }
