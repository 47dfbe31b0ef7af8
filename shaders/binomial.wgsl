// Draws binomial numbers, each from a generator of its own; wgtorch/ops/binomial.py says how.
//
// launch: count
// expects: count, how many; two words for each of them

const MOST = 32u;  // blocks of four words

// (a number, whether it is accepted)
fn tried(n: f32, p: f32, q: f32, u: f32, v: f32) -> vec2<f32> {
    let spread = sqrt(n * p * q);
    let b = 1.15 + 2.53 * spread;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let away = 0.5 - abs(u);
    let k = floor((2.0 * a / away + b) * u + n * p + 0.5);
    if k < 0.0 || k > n { return vec2<f32>(k, 0.0); }
    if away >= 0.07 && v <= 0.92 - 4.2 / b { return vec2<f32>(k, 1.0); }
    let height = v * (2.83 + 5.1 / b) * spread / (a / (away * away) + b);
    let peak = log_chance_of_successes(floor((n + 1.0) * p), n, p, q);
    let below = log_f32(height) <= log_chance_of_successes(k, n, p, q) - peak;
    return vec2<f32>(k, select(0.0, 1.0, below));
}

fn compute(i: u32) {
    let n = trials_nth(i);
    let chance = chances_nth(i);
    let key = vec2<u32>(bitcast<u32>(words_nth(2u * i)), bitcast<u32>(words_nth(2u * i + 1u)));
    let turned = chance > 0.5;
    let p = select(chance, 1.0 - chance, turned);
    let q = select(1.0 - chance, chance, turned);
    let large = n * p >= 10.0;
    let rate = max(-log1p_f32(-p), 1.0e-30);
    var waited = 0.0;
    var found = select(0.0, floor(n * p), large);
    for (var step = 0u; step < MOST; step++) {
        let numbers = inside4(philox(vec4<u32>(step, 0u, 0u, 0u), key));
        var done = false;
        for (var k = 0u; k < 4u && !done; k++) {
            if !large {
                waited += floor(-log_f32(numbers[k]) / rate) + 1.0;
                done = waited > n;
                found += select(1.0, 0.0, done);
            } else if k % 2u == 0u {
                let attempt = tried(n, p, q, numbers[k] - 0.5, numbers[k + 1u]);
                done = attempt.y > 0.0;
                found = select(found, attempt.x, done);
            }
        }
        if done { break; }
    }
    set_result(i, select(found, n - found, turned));
}
