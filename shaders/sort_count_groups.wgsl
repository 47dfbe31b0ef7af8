// Counts the digits of the keys: a workgroup for each part of 1,024 neighbours.
//
// launch: count parts span shift
// expects: DIGITS = 16; key_of(i); counts_words, DIGITS x parts

const GROUP = 256u;
var<workgroup> digits: array<atomic<u32>, DIGITS>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var part = block.x; part < launch.parts; part += blocks.x) {
        if local < DIGITS { atomicStore(&digits[local], 0u); }
        workgroupBarrier();
        for (var k = 0u; k < 4u; k++) {
            let i = part * 1024u + k * GROUP + local;
            if i < launch.count { atomicAdd(&digits[(key_of(i) >> launch.shift) % DIGITS], 1u); }
        }
        workgroupBarrier();
        if local < DIGITS {
            counts_words[local * launch.parts + part] = i32(atomicLoad(&digits[local]));
        }
        workgroupBarrier();
    }
}
