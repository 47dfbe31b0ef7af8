// Numbers of 46 bits as pairs of floats: the first is the number rounded, the second what is left.
//
// Products are split by bits and sums held (see floats.wgsl), so that no compiler regroups them.
// T. J. Dekker, "A floating-point technique for extending the available precision" (1971).

fn pair_of_sum(a: f32, b: f32) -> vec2<f32> {
    let sum = held_f32(a + b);
    let of_b = held_f32(sum - a);
    return vec2<f32>(sum, (a - held_f32(sum - of_b)) + (b - of_b));
}

fn pair_add(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let sum = pair_of_sum(a.x, b.x);
    return pair_of_sum(sum.x, sum.y + (a.y + b.y));
}

fn pair_mul(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let product = held_f32(a.x * b.x);
    let a_upper = upper_f32(a.x);
    let b_upper = upper_f32(b.x);
    let a_lower = a.x - a_upper;
    let b_lower = b.x - b_upper;
    let rest = held_f32(held_f32(a_upper * b_upper - product) + a_upper * b_lower)
        + a_lower * b_upper + a_lower * b_lower;
    return pair_of_sum(product, rest + (a.x * b.y + a.y * b.x));
}

fn pair_div(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let first = held_f32(a.x / b.x);
    let rest = pair_add(a, pair_mul(b, vec2<f32>(-first, 0.0)));
    return pair_of_sum(first, rest.x / b.x);
}

fn pair_sqrt(a: f32) -> vec2<f32> {
    let root = sqrt_f32(a);
    let square = pair_mul(vec2<f32>(root, 0.0), vec2<f32>(root, 0.0));
    return pair_of_sum(root, ((a - square.x) - square.y) * 0.5 / root);
}

// log(x / y) of positive finite numbers, right to 2^-36: 2 atanh(s), s = (x - y) / (x + y), of the
// mantissas, and powers of two.
fn pair_log_of_quotient(x: f32, y: f32) -> vec2<f32> {
    let above = log_parts(x);
    let below = log_parts(y);
    let a = above.y + 1.0;
    let b = below.y + 1.0;
    let steps = select(0.0, 1.0, a > 1.42 * b) - select(0.0, 1.0, b > 1.42 * a);
    let m = a * exp2_near_whole(-steps);
    let s = pair_div(pair_of_sum(m, -b), pair_of_sum(m, b));
    let square = pair_mul(s, s);
    let z = square.x;
    let cubic = pair_mul(square, vec2<f32>(0.33333334, -9.934108e-9));
    let more = z * z * (0.2 + z * (0.14285715 + z * (0.11111111 + z * 0.09090909)));
    let series = pair_add(cubic, vec2<f32>(more, 0.0));
    let logarithm = pair_mul(s, pair_add(vec2<f32>(2.0, 0.0), series + series));
    let turns = above.x - below.x + steps;
    let doubled = pair_mul(vec2<f32>(turns, 0.0), vec2<f32>(0.6931472, -1.9046542e-9));
    return pair_add(doubled, logarithm);
}

// 2^n for n = -1, 0 or 1
fn exp2_near_whole(n: f32) -> f32 { return select(select(1.0, 2.0, n > 0.5), 0.5, n < -0.5); }
