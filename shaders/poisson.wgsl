// Draws Poisson numbers, each from a generator of its own; wgtorch/ops/poisson.py says how.
//
// launch: count
// expects: count, how many rates; two words for each of them

const MOST = 32u;  // blocks of four words

// (a number, whether it is accepted)
fn tried(rate: f32, u: f32, v: f32) -> vec2<f32> {
    let b = 0.931 + 2.53 * sqrt(rate);
    let a = -0.059 + 0.02483 * b;
    let away = 0.5 - abs(u);
    let k = floor((2.0 * a / away + b) * u + rate + 0.43);
    if away >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2.0) { return vec2<f32>(k, 1.0); }
    if k < 0.0 || (away < 0.013 && v > away) { return vec2<f32>(k, 0.0); }
    let height = v * (1.1239 + 1.1328 / (b - 3.4));
    let below = log_f32(height / (a / (away * away) + b)) <= log_chance(k, rate);
    return vec2<f32>(k, select(0.0, 1.0, below));
}

fn compute(i: u32) {
    let rate = rates_nth(i);
    let key = vec2<u32>(bitcast<u32>(words_nth(2u * i)), bitcast<u32>(words_nth(2u * i + 1u)));
    let large = rate >= 10.0;
    let least = exp_f32(-rate);
    var product = 1.0;
    var result = select(0.0, floor(rate), large);
    for (var step = 0u; step < MOST; step++) {
        let numbers = inside4(philox(vec4<u32>(step, 0u, 0u, 0u), key));
        var done = false;
        for (var k = 0u; k < 4u && !done; k++) {
            if !large {
                product *= numbers[k];
                done = !(product > least);
                result += select(1.0, 0.0, done);
            } else if k % 2u == 0u {
                let found = tried(rate, numbers[k] - 0.5, numbers[k + 1u]);
                done = found.y > 0.0;
                result = select(result, found.x, done);
            }
        }
        if done { break; }
    }
    set_result(i, result);
}
