// Moves each key to its place by one digit, in order: a workgroup for each part of 1,024 neighbours.
//
// launch: count parts span shift
// expects: DIGITS = 16; key_of(i), old(i), set_key(i, key), set_old(i, place); counts_words (those of
//          the parts before), totals_words

const GROUP = 256u;
// How often each digit came up in the threads before, two counts to a word.
var<workgroup> before: array<array<u32, 8>, GROUP>;
var<workgroup> begins: array<u32, DIGITS>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var part = block.x; part < launch.parts; part += blocks.x) {
        if local < DIGITS {
            var begin = counts_words[local * launch.parts + part];
            for (var digit = 0u; digit < local; digit++) { begin += totals_words[digit]; }
            begins[local] = u32(begin);
        }
        let first = part * 1024u + local * 4u;
        var keys: vec4<u32>;
        var own = array<u32, 8>();
        for (var k = 0u; k < 4u; k++) {
            if first + k < launch.count {
                keys[k] = key_of(first + k);
                let digit = (keys[k] >> launch.shift) % DIGITS;
                own[digit / 2u] += 1u << (16u * (digit % 2u));
            }
        }
        before[local] = own;
        for (var gap = 1u; gap < GROUP; gap *= 2u) {
            workgroupBarrier();
            var sum = before[local];
            if local >= gap {
                let more = before[local - gap];
                for (var w = 0u; w < 8u; w++) { sum[w] += more[w]; }
            }
            workgroupBarrier();
            before[local] = sum;
        }
        workgroupBarrier();
        var ranks = array<u32, 8>();
        if local > 0u { ranks = before[local - 1u]; }
        for (var k = 0u; k < 4u; k++) {
            if first + k < launch.count {
                let digit = (keys[k] >> launch.shift) % DIGITS;
                let half = 16u * (digit % 2u);
                let target_place = begins[digit] + ((ranks[digit / 2u] >> half) & 0xffffu);
                ranks[digit / 2u] += 1u << half;
                set_key(target_place, keys[k]);
                set_old(target_place, old(first + k));
            }
        }
        workgroupBarrier();
    }
}
