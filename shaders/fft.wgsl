// One pass of a Fourier transform along one dimension, by Stockham's way: no order is undone after.
// expects: RADIX, load(outer, k, inner) -> c64, store(outer, k, inner, c64), roots_at(k) -> c64 (of
//     the whole transform), dft(v), which transforms RADIX numbers
// launch: count span done stride inner sign:f32 whole:f32 scale:f32

fn root(k: u32) -> c64 {
    let w = roots_at(k);
    return c64(w.x, launch.sign * w.y);
}

// Thread t does one butterfly: `span` of them make a row, and `done` is the length of what earlier
// passes transformed.
fn compute(t: u32) {
    let inner = t % launch.inner;
    let j = t / launch.inner % launch.span;
    let outer = t / launch.inner / launch.span;
    let k = j % launch.done;
    var v: array<c64, RADIX>;
    for (var r = 0u; r < RADIX; r++) {
        v[r] = load(outer, j + r * launch.span, inner);
    }
    if launch.done > 1u {
        for (var r = 1u; r < RADIX; r++) {
            v[r] = mul_c64(v[r], root(r * k * launch.stride));
        }
    }
    dft(&v);
    let first = (j / launch.done) * launch.done * RADIX + k;
    for (var r = 0u; r < RADIX; r++) {
        store(outer, first + r * launch.done, inner, v[r] * launch.scale);
    }
}
