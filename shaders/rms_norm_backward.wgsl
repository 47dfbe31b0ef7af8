// What the input of an RMS norm gets: rstd * (g - normal * mean(g * normal)), where g = grad * weight
// and normal is the normalised row.

fn do_row(row: Base) {
    let count = steps();
    let size = f32(launch.cols * launch.outer);
    let scale = rstd_get(row, 0u);
    var along = V(0.0);
    for (var k = 0u; k < count;) {
        let stop = turn_end(k, count);
        var part = V(0.0);
        for (; k < stop; k++) {
            part += grad_get(row, k) * weight_get(row, k) * (input_get(row, k) * scale);
        }
        along += part;
    }
    along = all_sum(along) / size;
    for (var k = 0u; k < count; k++) {
        let g = grad_get(row, k) * weight_get(row, k);
        result_put(row, k, (g - input_get(row, k) * scale * along) * scale);
    }
}
