// What the input of a layer norm gets: rstd * (g - mean(g) - normal * mean(g * normal)), where
// g = grad * weight and normal is the normalised row.

fn do_row(row: Base) {
    let count = steps();
    let size = f32(launch.cols * launch.outer);
    let center = mean_get(row, 0u);
    let scale = rstd_get(row, 0u);
    var plain = V(0.0);
    var along = V(0.0);
    for (var k = 0u; k < count;) {
        let stop = turn_end(k, count);
        var plain_part = V(0.0);
        var along_part = V(0.0);
        for (; k < stop; k++) {
            let g = grad_get(row, k) * weight_get(row, k);
            plain_part += g;
            along_part += g * ((input_get(row, k) - center) * scale);
        }
        plain += plain_part;
        along += along_part;
    }
    plain = all_sum(plain) / size;
    along = all_sum(along) / size;
    for (var k = 0u; k < count; k++) {
        let g = grad_get(row, k) * weight_get(row, k);
        let normal = (input_get(row, k) - center) * scale;
        result_put(row, k, (g - plain - normal * along) * scale);
    }
}
