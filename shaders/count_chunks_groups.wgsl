// Counts the elements in each chunk of the input that are not zero; a workgroup for each chunk.
//
// launch: count size chunk
// expects: count, how many chunks; size, how many elements; chunk, how many to a chunk, of which a
//          thread has a multiple of eight

const GROUP = 256u;
var<workgroup> sum: atomic<u32>;

fn one_at(i: u32) -> u32 {
    return select(0u, 1u, input_nth(min(i, max(launch.size, 1u) - 1u)) && i < launch.size);
}

fn four_at(i: u32) -> u32 {
    return one_at(i) + one_at(i + GROUP) + one_at(i + 2u * GROUP) + one_at(i + 3u * GROUP);
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var c = block.x; c < launch.count; c += blocks.x) {
        if local == 0u { atomicStore(&sum, 0u); }
        workgroupBarrier();
        let first = c * launch.chunk + local;
        var own = 0u;
        for (var i = first; i < first + launch.chunk; i += 8u * GROUP) {
            own += four_at(i) + four_at(i + 4u * GROUP);
        }
        atomicAdd(&sum, own);
        workgroupBarrier();
        if local == 0u { set_counts(c, i32(atomicLoad(&sum))); }
        workgroupBarrier();
    }
}
