// Where pooling windows begin and end.

// A window's elements begin to end (excluded); `padded` counts those in the padding too.
struct PoolSpan { begin: u32, end: u32, padded: u32 }

fn pool_span(o: u32, step: u32, pad: u32, size: u32, length: u32) -> PoolSpan {
    let begin = o * step;  // counted from the start of the padding
    let end = min(begin + size, length + 2u * pad);
    return PoolSpan(max(begin, pad) - pad, min(max(end, pad) - pad, length), end - begin);
}

// What the sum of a window is divided by; `given` unless that is 0.
fn pool_divisor(y: PoolSpan, x: PoolSpan, counts_pad: u32, given: f32) -> f32 {
    let inside = (y.end - y.begin) * (x.end - x.begin);
    let size = select(inside, y.padded * x.padded, counts_pad != 0u);
    return select(given, f32(size), given == 0.0);
}

// Window o of `out` that cover `size` elements evenly.
fn even_begin(o: u32, size: u32, out: u32) -> u32 { return o * size / out; }
fn even_end(o: u32, size: u32, out: u32) -> u32 { return ((o + 1u) * size + out - 1u) / out; }
