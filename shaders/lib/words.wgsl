// Run-time numbers of 64 bits, which travel as two 32-bit words, the low one first.

fn i64_of_words(words: vec2<u32>) -> i64 {
    return (i64(words.y) << 32u) | (i64(words.x) & 0xffffffffli);  // naga extends the sign of a u32
}

fn f64_of_words(words: vec2<u32>) -> f64 {
    return bitcast<f64>(i64_of_words(words));
}
