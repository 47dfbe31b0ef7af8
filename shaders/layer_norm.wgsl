// A row at mean 0 and variance 1, then scaled and shifted element by element.
//
// launch: eps

fn do_row(row: Base) {
    let count = steps();
    let size = f32(launch.cols * launch.outer);
    var total = V(0.0);
    for (var k = 0u; k < count;) {
        let stop = turn_end(k, count);
        var part = V(0.0);
        for (; k < stop; k++) { part += input_get(row, k); }
        total += part;
    }
    let center = all_sum(total) / size;
    var spread = V(0.0);
    for (var k = 0u; k < count;) {
        let stop = turn_end(k, count);
        var part = V(0.0);
        for (; k < stop; k++) {
            let far = input_get(row, k) - center;
            part += far * far;
        }
        spread += part;
    }
    let scale = rsqrt_v(all_sum(spread) / size + launch.eps);
    mean_set(center);
    rstd_set(scale);
    for (var k = 0u; k < count; k++) {
        let normal = (input_get(row, k) - center) * scale;
        _out_put(row, k, normal * weight_get(row, k) + bias_get(row, k));
    }
}
