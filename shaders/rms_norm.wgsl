// A row divided by its root mean square, then scaled element by element.
//
// launch: eps

fn do_row(row: Base) {
    let count = steps();
    let size = f32(launch.cols * launch.outer);
    var total = V(0.0);
    for (var k = 0u; k < count;) {
        let stop = turn_end(k, count);
        var part = V(0.0);
        for (; k < stop; k++) { part += input_get(row, k) * input_get(row, k); }
        total += part;
    }
    let scale = rsqrt_v(all_sum(total) / size + launch.eps);
    rstd_set(scale);
    for (var k = 0u; k < count; k++) {
        _out_put(row, k, input_get(row, k) * scale * weight_get(row, k));
    }
}
