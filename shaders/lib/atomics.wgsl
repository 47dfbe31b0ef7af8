// Atomic updates that WGSL has not, of a kernel's buffer `cells: array<atomic<u32>>`.
//
// By name, because naga lets no pointer into storage be a parameter. Sums of floats depend on the
// order in which threads arrive: deterministic kernels sort instead.

fn cells_add_f32(place: u32, x: f32) {
    var old = atomicLoad(&cells[place]);
    loop {
        let sum = bitcast<u32>(bitcast<f32>(old) + x);
        let seen = atomicCompareExchangeWeak(&cells[place], old, sum);
        if (seen.exchanged) { break; }
        old = seen.old_value;
    }
}

fn cells_mul_f32(place: u32, x: f32) {
    var old = atomicLoad(&cells[place]);
    loop {
        let product = bitcast<u32>(bitcast<f32>(old) * x);
        let seen = atomicCompareExchangeWeak(&cells[place], old, product);
        if (seen.exchanged) { break; }
        old = seen.old_value;
    }
}

// NaN wins, as in maximum and minimum.
fn cells_max_f32(place: u32, x: f32) {
    var old = atomicLoad(&cells[place]);
    loop {
        let more = bitcast<u32>(maximum_f32(bitcast<f32>(old), x));
        if (more == old) { break; }
        let seen = atomicCompareExchangeWeak(&cells[place], old, more);
        if (seen.exchanged) { break; }
        old = seen.old_value;
    }
}

fn cells_min_f32(place: u32, x: f32) {
    var old = atomicLoad(&cells[place]);
    loop {
        let less = bitcast<u32>(minimum_f32(bitcast<f32>(old), x));
        if (less == old) { break; }
        let seen = atomicCompareExchangeWeak(&cells[place], old, less);
        if (seen.exchanged) { break; }
        old = seen.old_value;
    }
}

// Numbers of 32 bits, whatever their sign; wraps.
fn cells_add_i32(place: u32, x: i32) { atomicAdd(&cells[place], bitcast<u32>(x)); }

fn cells_at_i32(place: u32) -> i32 { return bitcast<i32>(atomicLoad(&cells[place])); }
fn cells_at_f32(place: u32) -> f32 { return bitcast<f32>(atomicLoad(&cells[place])); }

// Element `place` of 64-bit integers. Each carry follows by itself: right when all have arrived.
fn cells_add_i64e(place: u32, x: vec2<u32>) {
    let old = atomicAdd(&cells[2u * place], x.x);
    let carry = select(0u, 1u, old + x.x < old);
    if x.y + carry != 0u { atomicAdd(&cells[2u * place + 1u], x.y + carry); }
}
fn cells_add_i64(place: u32, x: i64) { cells_add_i64e(place, words_of_i64(x)); }
fn cells_at_i64e(place: u32) -> vec2<u32> {
    return vec2<u32>(atomicLoad(&cells[2u * place]), atomicLoad(&cells[2u * place + 1u]));
}
fn cells_at_i64(place: u32) -> i64 { return i64_of_words(cells_at_i64e(place)); }

// Element `place` of bytes or halves: only its own bits of the word change.
fn cells_set_u8(place: u32, bits: u32) {
    let shift = 8u * (place % 4u);
    atomicAnd(&cells[place / 4u], ~(0xffu << shift));
    atomicOr(&cells[place / 4u], (bits & 0xffu) << shift);
}

fn cells_set_u16(place: u32, bits: u32) {
    let shift = 16u * (place % 2u);
    atomicAnd(&cells[place / 2u], ~(0xffffu << shift));
    atomicOr(&cells[place / 2u], (bits & 0xffffu) << shift);
}
