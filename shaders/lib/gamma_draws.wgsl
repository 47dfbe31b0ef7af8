// How the logarithm of a gamma number moves with its concentration, within 2e-6 relative;
// wgtorch/ops/gamma_draws.py says how.

// of x^n / ((a + 1) ... (a + n)), the terms of P(a, x), and their slopes
fn log_gamma_slope_series(a: f32, log_x: f32) -> f32 {
    let x = exp_f32(log_x);
    var term = 1.0;
    var total = 1.0;
    var falls = 0.0;
    var slope = 0.0;
    for (var n = 1.0; n < 80.0; n = n + 1.0) {
        term = term * (x / (a + n));
        falls = falls + 1.0 / (a + n);
        total = total + term;
        slope = slope + term * falls;
        if (term < 2.0e-8 * total) { break; }
    }
    return (slope - total * (log_x - digamma_f32(a + 1.0))) / a;
}

// (e^s - 1 - s) / (s^2 / 2)
fn exp_beyond_line(s: f32) -> f32 {
    let near = 1.0 + s * (0.33333334 + s * (0.083333336 + s * (0.016666668 + s * (0.0027777778
        + s * (0.0003968254 + s * 4.9603175e-5)))));
    let away = select(s, 1.0, abs(s) < 0.5);
    return select(2.0 * (expm1_f32(away) - away) / (away * away), near, abs(s) < 0.5);
}

// log x - digamma(a)
fn above_digamma(a: f32, log_x: f32) -> f32 {
    if (a < 8.0) { return log_x - digamma_f32(a); }
    let u = 1.0 / (a * a);
    let ratio = (exp_f32(log_x) - a) / a;
    let logarithm = select(log_x - log_f32(a), log1p_f32(ratio), abs(ratio) < 0.5);
    return logarithm + 0.5 / a + u * (0.083333336 - u * 0.008333334);
}

// Gauss and Legendre's 16 nodes from 0 to 1, and their weights.
fn legendre_node(k: u32) -> vec2<f32> {
    var nodes = array<vec2<f32>, 16>(
        vec2<f32>(0.0052995323, 0.01357623), vec2<f32>(0.027712489, 0.031126762), vec2<f32>(0.067184396, 0.047579255),
        vec2<f32>(0.12229779, 0.062314484), vec2<f32>(0.19106188, 0.074797995), vec2<f32>(0.27099162, 0.08457826),
        vec2<f32>(0.3591982, 0.09130171), vec2<f32>(0.45249376, 0.0947253), vec2<f32>(0.5475063, 0.0947253),
        vec2<f32>(0.6408018, 0.09130171), vec2<f32>(0.7290084, 0.08457826), vec2<f32>(0.80893815, 0.074797995),
        vec2<f32>(0.8777022, 0.062314484), vec2<f32>(0.9328156, 0.047579255), vec2<f32>(0.97228754, 0.031126762),
        vec2<f32>(0.9947005, 0.01357623)
    );
    return nodes[k];
}

// Over t = x e^s, on the side of x that is away from the peak, down to e^-18 of it.
fn log_gamma_slope_integral(a: f32, log_x: f32) -> f32 {
    let x = exp_f32(log_x);
    let side = select(-1.0, 1.0, x >= a);
    let away = abs(x - a);
    var end = 36.0 / (away + sqrt(away * away + 36.0 * x));
    end = min(end, max(1.26, log1p_f32(36.0 / x)));
    let b = 2.0 * away - 18.0;
    let root = sqrt(b * b + 144.0 * a);
    let below = select((root - b) / (2.0 * a), 72.0 / (abs(b) + root), b > 0.0);
    end = select(below, end, x >= a);
    let level = above_digamma(a, log_x);
    var total = 0.0;
    for (var k = 0u; k < 16u; k++) {
        let node = legendre_node(k);
        let s = end * node.x;
        let fall = away * s + 0.5 * x * s * s * exp_beyond_line(side * s);
        total = total + node.y * exp_f32(-fall) * (level + side * s);
    }
    return side * end * total;
}

fn log_gamma_slope_f32(a: f32, log_x: f32) -> f32 {
    if (!(a >= 1.0e-10 && a <= 1.0e10 && log_x >= -1.0e12 && log_x <= 60.0)) { return float_of(0x7fc00000u); }
    if (a < 10.0 && log_x < log_f32(max(a, 0.5))) { return log_gamma_slope_series(a, log_x); }
    return log_gamma_slope_integral(a, log_x);
}
