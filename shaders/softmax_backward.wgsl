// What a softmax passes back: result * (grad - the row's sum of grad * result).

fn do_row(row: Base) {
    let count = steps();
    var total = V(0.0);
    for (var k = 0u; k < count;) {
        let stop = turn_end(k, count);
        var part = V(0.0);
        for (; k < stop; k++) { part += grad_get(row, k) * output_get(row, k); }
        total += part;
    }
    total = all_sum(total);
    for (var k = 0u; k < count; k++) {
        result_put(row, k, output_get(row, k) * (grad_get(row, k) - total));
    }
}
