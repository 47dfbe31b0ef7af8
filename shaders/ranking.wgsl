// Ranks the keys of a workgroup by four bits, stably, and moves words to where their keys go.
//
// expects: ITEMS, how many keys each thread has, all neighbours: a multiple of 4, at most 16

const GROUP = 256u;
const DIGITS = 16u;
const FOURS = ITEMS / 4u;
const COUNTS = 9u * GROUP;
alias Own = array<vec4<u32>, FOURS>;  // what a thread has

// Counts of each digit in each thread, two to a word; then what moves. With gaps, so that neither
// neighbours nor steps of a power of two meet in a bank.
var<workgroup> room: array<u32, max(COUNTS, ITEMS * GROUP / 32u * 33u)>;
var<workgroup> sums: array<u32, 2u * GROUP>;

fn count_place(digit: u32, thread: u32) -> u32 {
    let i = digit % 8u * GROUP + thread;
    return i + i / 8u;
}
fn half_of(digit: u32) -> u32 { return digit / 8u * 16u; }
fn gapped(i: u32) -> u32 { return i + i / 32u; }

// How many keys with this digit the thread had before.
fn counted(key: u32, shift: u32, thread: u32) -> u32 {
    let digit = (key >> shift) % DIGITS;
    let place = count_place(digit, thread);
    let many = room[place];
    room[place] = many + (1u << half_of(digit));
    return (many >> half_of(digit)) & 0xffffu;
}

// How many keys of the workgroup go before the thread's first with this digit.
fn begin_of(digit: u32, thread: u32) -> u32 {
    return (room[count_place(digit, thread)] >> half_of(digit)) & 0xffffu;
}

fn begin_for(key: u32, shift: u32, thread: u32) -> u32 {
    return begin_of((key >> shift) % DIGITS, thread);
}

// Replaces each count in `room` by the sum of those before it: by digit, then by thread.
fn add_up(thread: u32) {
    var own = 0u;
    for (var k = 0u; k < 8u; k++) { own += room[9u * thread + k]; }
    sums[thread] = own;
    var at = 0u;
    for (var gap = 1u; gap < GROUP; gap *= 2u) {
        workgroupBarrier();
        var sum = sums[at + thread];
        if thread >= gap { sum += sums[at + thread - gap]; }
        at = GROUP - at;
        sums[at + thread] = sum;
    }
    workgroupBarrier();
    // The upper halves are of digits 8 and on, which go behind all of the lower ones.
    var before = sums[at + thread] - own + (sums[at + GROUP - 1u] << 16u);
    for (var k = 0u; k < 8u; k++) {
        let many = room[9u * thread + k];
        room[9u * thread + k] = before;
        before += many;
    }
}

// Where each key goes. `room` holds the begins after it, until all threads have met again.
fn rank(keys: ptr<function, Own>, ranks: ptr<function, Own>, shift: u32, thread: u32) {
    for (var digit = 0u; digit < 8u; digit++) { room[count_place(digit, thread)] = 0u; }
    for (var f = 0u; f < FOURS; f++) {
        let four = (*keys)[f];
        let x = counted(four.x, shift, thread);
        let y = counted(four.y, shift, thread);
        let z = counted(four.z, shift, thread);
        let w = counted(four.w, shift, thread);
        (*ranks)[f] = vec4<u32>(x, y, z, w);
    }
    workgroupBarrier();
    add_up(thread);
    workgroupBarrier();
    for (var f = 0u; f < FOURS; f++) {
        let four = (*keys)[f];
        (*ranks)[f] += vec4<u32>(
            begin_for(four.x, shift, thread), begin_for(four.y, shift, thread),
            begin_for(four.z, shift, thread), begin_for(four.w, shift, thread)
        );
    }
}

// Puts words where their ranks say; all threads must have met since `room` was last used.
fn put(words: ptr<function, Own>, ranks: ptr<function, Own>) {
    for (var f = 0u; f < FOURS; f++) {
        let four = (*words)[f];
        let to = (*ranks)[f];
        room[gapped(to.x)] = four.x;
        room[gapped(to.y)] = four.y;
        room[gapped(to.z)] = four.z;
        room[gapped(to.w)] = four.w;
    }
    workgroupBarrier();
}

// The word in place i.
fn got(i: u32) -> u32 { return room[gapped(i)]; }

fn got_four(i: u32) -> vec4<u32> {
    return vec4<u32>(got(i), got(i + 1u), got(i + 2u), got(i + 3u));
}
