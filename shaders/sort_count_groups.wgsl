// Counts the digits of the keys: a workgroup for each part of neighbours.
//
// launch: count parts span shift
// expects: DIGITS = 16; key_of(i); counts_words, DIGITS x parts

const GROUP = 256u;
const COPIES = 16u;  // of each count, so that fewer threads meet
var<workgroup> digits: array<atomic<u32>, DIGITS * COPIES>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var part = block.x; part < launch.parts; part += blocks.x) {
        atomicStore(&digits[local], 0u);
        workgroupBarrier();
        let end = min(part * launch.span + launch.span, launch.count);
        for (var i = part * launch.span + local; i < end; i += GROUP) {
            let digit = (key_of(i) >> launch.shift) % DIGITS;
            atomicAdd(&digits[digit * COPIES + local % COPIES], 1u);
        }
        workgroupBarrier();
        if local < DIGITS {
            var many = 0u;
            for (var k = 0u; k < COPIES; k++) { many += atomicLoad(&digits[local * COPIES + k]); }
            counts_words[local * launch.parts + part] = i32(many);
        }
        workgroupBarrier();
    }
}
