// Logarithm of the softmax of a row, without the exponential of anything large.

fn do_row(row: Base) {
    let count = steps();
    var peak = V(float_of(0xff800000u));
    for (var k = 0u; k < count; k++) { peak = maximum_v(peak, input_get(row, k)); }
    peak = all_max(peak);
    var total = V(0.0);
    for (var k = 0u; k < count;) {
        let stop = turn_end(k, count);
        var part = V(0.0);
        for (; k < stop; k++) { part += exp_v(input_get(row, k) - peak); }
        total += part;
    }
    total = log_v(all_sum(total));
    for (var k = 0u; k < count; k++) { result_put(row, k, (input_get(row, k) - peak) - total); }
}
