// What a softmax passes back: result * (grad - the row's sum of grad * result).

fn do_row(row: Base) {
    let count = steps();
    var total = V(0.0);
    for (var k = 0u; k < count; k++) { total += grad_get(row, k) * output_get(row, k); }
    total = all_sum(total);
    for (var k = 0u; k < count; k++) {
        result_put(row, k, output_get(row, k) * (grad_get(row, k) - total));
    }
}
