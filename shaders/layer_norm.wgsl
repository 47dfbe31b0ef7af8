// A row at mean 0 and variance 1, then scaled and shifted element by element.
//
// launch: eps

fn do_row(row: Base) {
    let count = steps();
    let size = f32(launch.cols * launch.outer);
    var total = V(0.0);
    for (var k = 0u; k < count; k++) { total += input_get(row, k); }
    let center = all_sum(total) / size;
    var spread = V(0.0);
    for (var k = 0u; k < count; k++) {
        let far = input_get(row, k) - center;
        spread += far * far;
    }
    let scale = rsqrt_v(all_sum(spread) / size + launch.eps);
    mean_set(center);
    rstd_set(scale);
    for (var k = 0u; k < count; k++) {
        let normal = (input_get(row, k) - center) * scale;
        _out_put(row, k, normal * weight_get(row, k) + bias_get(row, k));
    }
}
