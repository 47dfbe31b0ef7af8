// Reports it if a condition, a single element, does not hold.
//
// launch:

@compute @workgroup_size(1)
fn main() {
    if !holds_nth(0u) {
        report_refused();
    }
}
