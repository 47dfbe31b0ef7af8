// The mean of what the classes that targets name cost, and what one target is of it: one workgroup.
//
// launch: count stride size:i32 ignored:i32
// expects: fn base(i: u32) -> u32, where the score of class 0 for target i is

const GROUP = 256u;
var<workgroup> sums: array<share_type, GROUP>;
var<workgroup> counts: array<u32, GROUP>;

@compute @workgroup_size(GROUP)
fn main(@builtin(local_invocation_index) local: u32) {
    var sum = share_type();
    var counted = 0u;
    for (var i = local; i < launch.count; i += GROUP) {
        let index = index_nth(i);
        if index == launch.ignored { continue; }
        if index < 0 || index >= launch.size {
            report_out_of_range(bitcast<u32>(index));
            continue;
        }
        sum -= share_type(input_at(base(i) + u32(index) * launch.stride));
        counted++;
    }
    sums[local] = sum;
    counts[local] = counted;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if local < half {
            sums[local] += sums[local + half];
            counts[local] += counts[local + half];
        }
    }
    if local == 0u {
        let all = share_type(counts[0]);
        set__out(0u, _out_type(sums[0] / all));
        set_share(0u, share_type(1) / all);
    }
}
