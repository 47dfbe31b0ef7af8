// Counts the elements in each chunk of the input that are not zero; a workgroup for each chunk.
//
// launch: count size chunk begin
// expects: count, how many chunks; size, how many elements; chunk, how many to a chunk;
//          begin, where the counts begin

const GROUP = 256u;
var<workgroup> sums: array<i32, GROUP>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var c = block.x; c < launch.count; c += blocks.x) {
        let end = min((c + 1u) * launch.chunk, launch.size);
        var own = 0;
        for (var i = c * launch.chunk + local; i < end; i += GROUP) {
            own += select(0, 1, input_nth(i));
        }
        sums[local] = own;
        for (var half = GROUP / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if local < half { sums[local] += sums[local + half]; }
        }
        if local == 0u { set_counts(launch.begin + c, sums[0]); }
        workgroupBarrier();
    }
}
