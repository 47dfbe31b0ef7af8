// Logarithms of the chances of whole numbers, which rejection compares with.

// Of a Poisson number k, by Loader's formula; wgtorch/ops/poisson.py says more.
fn log_chance(k: f32, rate: f32) -> f32 {
    if k < 1.0 { return -rate; }
    let v = (k - rate) / (k + rate);
    let square = v * v;
    var deviance = (k - rate) * v + 2.0 * k * v * square * (
        0.33333334 + square * (0.2 + square * (0.14285715 + square * 0.11111111))
    );
    if abs(v) >= 0.1 { deviance = k * log_f32(k / rate) + rate - k; }
    let stirling = (0.083333336 - 0.0027777778 / (k * k)) / k;
    return -deviance - stirling - 0.5 * log_f32(6.2831855 * k);
}

// Of k successes in n trials, each of chance p = 1 - q: those of two Poisson numbers, given their sum.
fn log_chance_of_successes(k: f32, n: f32, p: f32, q: f32) -> f32 {
    return log_chance(k, n * p) + log_chance(n - k, n * q) - log_chance(n, n);
}
