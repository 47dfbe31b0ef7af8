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

// Window o of `out` that cover `size` elements evenly; ends are begins seen from behind.
fn even_begin(o: u32, size: u32, out: u32) -> u32 {
    return o * (size / out) + part_of(o, size % out, out);
}
fn even_end(o: u32, size: u32, out: u32) -> u32 { return size - even_begin(out - 1u - o, size, out); }

// o * rest / out of rest < out and o < out, also where the product takes more than 32 bits: what
// the estimate lacks fits into an i32 while out is at most 2^26.
fn part_of(o: u32, rest: u32, out: u32) -> u32 {
    let estimate = u32(f32(o) * f32(rest) / f32(out));
    let left = bitcast<i32>(o * rest - estimate * out);
    let whole = left / i32(out);
    return estimate + bitcast<u32>(whole - select(0, 1, left < whole * i32(out)));
}
