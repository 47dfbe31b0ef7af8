// Keeps the first few, in order, of what each workgroup sees of a row; equals in the order they came.
//
// A number is found that so many are at most, digit by digit from the highest, until those that are
// fit in the workgroup's memory and can be sorted. Places are the last digits: no two are equal.
//
// launch: rows length lanes first keep flip whole
// expects: network.wgsl, SIZE (how many can be sorted: a power of two, at least keep), WIDE (whether
//          a value has two words); found_at(row, i); leave(row, lane, n, found); lane l sees `first`
//          from l * first

const GROUP = 256u;
const BINS = 2048u;
struct Found { key: u32, low: u32, place: u32 }

var<workgroup> bins: array<atomic<u32>, BINS>;
var<workgroup> sums: array<u32, GROUP>;
var<workgroup> many: atomic<u32>;
var<workgroup> bin: u32;
var<workgroup> passed: u32;  // how many are in the bins before
var<workgroup> inside: u32;
// The number so far, and which of its bits are known.
var<private> limit: Found;
var<private> known: Found;
var<private> word: u32;
var<private> shift: u32;

// -1 where it is before all that begin as the number does, 0 where it is one of them, else 1.
fn side(found: Found) -> i32 {
    let key = found.key & known.key;
    if key != limit.key { return select(1, -1, key < limit.key); }
    if WIDE {
        let low = found.low & known.low;
        if low != limit.low { return select(1, -1, low < limit.low); }
    }
    let place = found.place & known.place;
    if place != limit.place { return select(1, -1, place < limit.place); }
    return 0;
}

fn count(found: Found, counts: bool) {
    if !counts || side(found) != 0 { return; }
    let bits = select(select(found.place, found.low, word == 1u), found.key, word == 0u);
    atomicAdd(&bins[(bits >> shift) % BINS], 1u);
}

// How many are in the bins of the threads before.
fn before_in_bins(thread: u32, own: u32) -> u32 {
    sums[thread] = own;
    for (var gap = 1u; gap < GROUP; gap *= 2u) {
        workgroupBarrier();
        var sum = sums[thread];
        if thread >= gap { sum += sums[thread - gap]; }
        workgroupBarrier();
        sums[thread] = sum;
    }
    return sums[thread] - own;
}

// The bin in which the element is that `wanted` are at most.
fn find_bin(thread: u32, wanted: u32) {
    var own = 0u;
    for (var k = 0u; k < BINS / GROUP; k++) { own += atomicLoad(&bins[thread * (BINS / GROUP) + k]); }
    var before = before_in_bins(thread, own);
    if before < wanted && wanted <= before + own {
        var at = thread * (BINS / GROUP);
        var here = atomicLoad(&bins[at]);
        while before + here < wanted {
            before += here;
            at++;
            here = atomicLoad(&bins[at]);
        }
        bin = at;
        passed = before;
        inside = here;
    }
    workgroupBarrier();
}

fn learn_digit() {
    if word == 0u {
        limit.key |= bin << shift;
        known.key |= (BINS - 1u) << shift;
    } else if word == 1u {
        limit.low |= bin << shift;
        known.low |= (BINS - 1u) << shift;
    } else {
        limit.place |= bin << shift;
        known.place |= (BINS - 1u) << shift;
    }
    if shift > 0u {
        shift = select(0u, 10u, shift == 21u);
    } else {
        shift = 21u;
        word += select(2u, 1u, WIDE);
    }
}

fn keep(found: Found, counts: bool) {
    if !counts || side(found) > 0 { return; }
    let at = atomicAdd(&many, 1u);
    keys[at] = found.key;
    if WIDE { lower[at] = found.low; }
    places[at] = found.place;
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) block: vec3u,
    @builtin(num_workgroups) blocks: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    for (var part = block.x; part < launch.rows * launch.lanes; part += blocks.x) {
        let row = part / launch.lanes;
        let lane = part - row * launch.lanes;
        let begin = min(lane * launch.first, launch.length);
        let end = min(begin + launch.first, launch.length);
        limit = Found();
        known = Found();
        word = 0u;
        shift = 21u;
        var sure = 0u;
        var left = end - begin;
        while sure + left > SIZE {
            for (var k = local; k < BINS; k += GROUP) { atomicStore(&bins[k], 0u); }
            workgroupBarrier();
            for (var i = begin + local; i < end; i += 4u * GROUP) {
                let a = found_at(row, i);
                let b = found_at(row, min(i + GROUP, end - 1u));
                let c = found_at(row, min(i + 2u * GROUP, end - 1u));
                let d = found_at(row, min(i + 3u * GROUP, end - 1u));
                count(a, true);
                count(b, i + GROUP < end);
                count(c, i + 2u * GROUP < end);
                count(d, i + 3u * GROUP < end);
            }
            workgroupBarrier();
            find_bin(local, launch.keep - sure);
            sure += passed;
            left = inside;
            learn_digit();
            workgroupBarrier();
        }
        if local == 0u { atomicStore(&many, 0u); }
        workgroupBarrier();
        for (var i = begin + local; i < end; i += 4u * GROUP) {
            let a = found_at(row, i);
            let b = found_at(row, min(i + GROUP, end - 1u));
            let c = found_at(row, min(i + 2u * GROUP, end - 1u));
            let d = found_at(row, min(i + 3u * GROUP, end - 1u));
            keep(a, true);
            keep(b, i + GROUP < end);
            keep(c, i + 2u * GROUP < end);
            keep(d, i + 3u * GROUP < end);
        }
        var size = 1u;
        while size < max(sure + left, launch.keep) { size *= 2u; }
        for (var i = sure + left + local; i < size; i += GROUP) {
            keys[i] = 0xffffffffu;  // behind all
            if WIDE { lower[i] = 0xffffffffu; }
            places[i] = 0xffffffffu;
        }
        put_in_order(local, size);
        for (var n = local; n < launch.keep; n += GROUP) {
            leave(row, lane, n, Found(keys[n], select(0u, lower[n % LOWER], WIDE), places[n]));
        }
        workgroupBarrier();
    }
}
