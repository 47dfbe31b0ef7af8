// Integer arithmetic that WGSL leaves open: division by zero, remainders, wide shifts, powers.
//
// The types below 32 bits compute in i32 and wrap when stored. x / 0 and x % 0 are 0 here, where
// PyTorch's CPU raises ZeroDivisionError; INT_MIN / -1 is INT_MIN, as there.

fn wrap_u8(x: i32) -> i32 { return x & 255; }
fn wrap_i8(x: i32) -> i32 { return (x << 24u) >> 24u; }
fn wrap_i16(x: i32) -> i32 { return (x << 16u) >> 16u; }

fn maximum_i32(x: i32, y: i32) -> i32 { return max(x, y); }
fn minimum_i32(x: i32, y: i32) -> i32 { return min(x, y); }
fn fmax_i32(x: i32, y: i32) -> i32 { return max(x, y); }
fn fmin_i32(x: i32, y: i32) -> i32 { return min(x, y); }
fn clamp_i32(x: i32, low: i32, high: i32) -> i32 { return min(max(x, low), high); }
fn clamp_min_i32(x: i32, low: i32) -> i32 { return max(x, low); }
fn clamp_max_i32(x: i32, high: i32) -> i32 { return min(x, high); }
fn relu_i32(x: i32) -> i32 { return max(x, 0); }
fn square_i32(x: i32) -> i32 { return x * x; }
fn signbit_i32(x: i32) -> bool { return x < 0; }
fn eq_i32(x: i32, y: i32) -> bool { return x == y; }
fn ne_i32(x: i32, y: i32) -> bool { return x != y; }
fn lt_i32(x: i32, y: i32) -> bool { return x < y; }
fn le_i32(x: i32, y: i32) -> bool { return x <= y; }
fn gt_i32(x: i32, y: i32) -> bool { return x > y; }
fn ge_i32(x: i32, y: i32) -> bool { return x >= y; }

fn round_i32(x: i32) -> i32 { return x; }
fn floor_i32(x: i32) -> i32 { return x; }
fn ceil_i32(x: i32) -> i32 { return x; }
fn trunc_i32(x: i32) -> i32 { return x; }
fn is_nan_i32(x: i32) -> bool { return false; }
fn is_inf_i32(x: i32) -> bool { return false; }
fn is_posinf_i32(x: i32) -> bool { return false; }
fn is_neginf_i32(x: i32) -> bool { return false; }
fn is_finite_i32(x: i32) -> bool { return true; }

// What can be divided by: -1 is left to a negation, which wraps.
fn divisor_i32(y: i32) -> i32 { return select(y, 1, (y == 0) | (y == -1)); }

fn trunc_div_i32(x: i32, y: i32) -> i32 {
    return select(select(x / divisor_i32(y), 0 - x, y == -1), 0, y == 0);
}

fn fmod_i32(x: i32, y: i32) -> i32 {
    return x - (x / divisor_i32(y)) * divisor_i32(y);
}

fn floor_div_i32(x: i32, y: i32) -> i32 {
    let rest = fmod_i32(x, y);
    return trunc_div_i32(x, y) - select(0, 1, (rest != 0) & ((rest < 0) != (y < 0)));
}

fn floor_mod_i32(x: i32, y: i32) -> i32 {
    let rest = fmod_i32(x, y);
    return rest + select(0, y, (rest != 0) & ((rest < 0) != (y < 0)));
}

fn shl_i32(x: i32, n: i32) -> i32 {
    let count = bitcast<u32>(n);
    return select(0, x << (count & 31u), count < 32u);
}

fn shr_i32(x: i32, n: i32) -> i32 {
    return x >> select(31u, bitcast<u32>(n), bitcast<u32>(n) < 32u);
}

// A negative power of anything but 1 and -1 is 0.
fn pow_i32(x: i32, y: i32) -> i32 {
    if (y < 0) { return select(select(0, 1 - ((y & 1) << 1u), x == -1), 1, x == 1); }
    var result = 1;
    var base = x;
    for (var left = bitcast<u32>(y); left != 0u; left = left >> 1u) {
        if ((left & 1u) != 0u) { result = result * base; }
        base = base * base;
    }
    return result;
}

fn gcd_i32(x: i32, y: i32) -> i32 {
    var a = bitcast<u32>(abs(x));
    var b = bitcast<u32>(abs(y));
    while (b != 0u) {
        let rest = a % b;
        a = b;
        b = rest;
    }
    return bitcast<i32>(a);
}

fn lcm_i32(x: i32, y: i32) -> i32 {
    return abs(trunc_div_i32(x, gcd_i32(x, y)) * y);
}
