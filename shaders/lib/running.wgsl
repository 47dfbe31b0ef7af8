// Running sums over the threads of a workgroup, of a kernel's `sums: array<A, 2 * GROUP>`.
//
// By name, because naga lets no pointer into a workgroup's memory be a parameter; A is what is
// joined, and `combine(a, b)` joins.

// What the threads before this one come to (of the first: zeros), and what all of them do.
struct RunningSum { before: A, total: A }

fn running_sum(local: u32, own: A) -> RunningSum {
    workgroupBarrier();  // somebody may still read what was here
    sums[local] = own;
    var at = 0u;
    for (var gap = 1u; gap < GROUP; gap *= 2u) {
        workgroupBarrier();
        var sum = sums[at + local];
        if local >= gap { sum = combine(sums[at + local - gap], sum); }
        at = GROUP - at;
        sums[at + local] = sum;
    }
    workgroupBarrier();
    var before = A();
    if local > 0u { before = sums[at + local - 1u]; }
    return RunningSum(before, sums[at + GROUP - 1u]);
}
