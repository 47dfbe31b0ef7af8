// Draws logarithms of gamma numbers, each from a generator of its own: wgtorch/ops/gamma_draws.py.
//
// launch: count
// expects: count, how many concentrations; two words for each of them

const MOST = 16u;  // tries

fn compute(i: u32) {
    let concentration = concentration_nth(i);
    let key = vec2<u32>(bitcast<u32>(words_nth(2u * i)), bitcast<u32>(words_nth(2u * i + 1u)));
    let below = concentration < 1.0;
    let d = concentration + select(0.0, 1.0, below) - 0.33333334;
    let scale = inverseSqrt(9.0 * d);
    var result = log_f32(d);
    for (var step = 0u; step < MOST; step++) {
        let numbers = inside4(philox(vec4<u32>(step, 0u, 0u, 0u), key));
        let z = sqrt(-2.0 * log_f32(numbers.x)) * cos_f32(6.2831855 * numbers.y);
        let root = 1.0 + z * scale;
        let log_v = 3.0 * log_f32(max(root, 1.0e-30));
        let room = 0.5 * z * z + d * (1.0 - root * root * root + log_v);
        if root > 0.0 && log_f32(numbers.z) < room {
            result += log_v;
            break;
        }
    }
    if below {
        let last = inside4(philox(vec4<u32>(MOST, 0u, 0u, 0u), key));
        result += log_f32(last.x) / concentration;
    }
    set_result(i, result);
}
