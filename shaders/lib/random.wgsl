// Random numbers from counters: Philox 4x32-10, and what is drawn from its words.
//
// A draw is (seed, offset): its word i is lane i % 4 of the block at counter offset + i / 4.
// Nothing else enters, so a seed gives the same numbers on every device; wgtorch/philox.py is the
// same generator for the CPU, and says which numbers come of which words.

// Ten rounds; after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
fn philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
    var c = counter;
    var k = key;
    for (var step = 0; step < 10; step++) {
        let a = wide_mul(0xd2511f53u, c.x);
        let b = wide_mul(0xcd9e8d57u, c.z);
        c = vec4<u32>(b.y ^ c.y ^ k.x, b.x, a.y ^ c.w ^ k.y, a.x);
        k = k + vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}

fn philox_i64(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
    var c = counter;
    var k = key;
    for (var step = 0; step < 10; step++) {
        let a = wide_mul_i64(0xd2511f53u, c.x);
        let b = wide_mul_i64(0xcd9e8d57u, c.z);
        c = vec4<u32>(b.y ^ c.y ^ k.x, b.x, a.y ^ c.w ^ k.y, a.x);
        k = k + vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}
fn wide_mul_i64(x: u32, y: u32) -> vec2<u32> {
    let product = u64(x) * u64(y);
    return vec2<u32>(u32(product & 0xfffffffflu), u32(product >> 32u));
}

// Words 4 * block to 4 * block + 3 of a draw.
fn random_block(seed: vec2<u32>, offset: vec2<u32>, block: u32) -> vec4<u32> {
    return philox(vec4<u32>(i64_add(offset, vec2<u32>(block, 0u)), 0u, 0u), seed);
}
// The same where 64-bit products are at hand: half as long to compute.
fn random_block_i64(seed: vec2<u32>, offset: vec2<u32>, block: u32) -> vec4<u32> {
    return philox_i64(vec4<u32>(i64_add(offset, vec2<u32>(block, 0u)), 0u, 0u), seed);
}
fn random_word(seed: vec2<u32>, offset: vec2<u32>, i: u32) -> u32 {
    return random_block(seed, offset, i / 4u)[i % 4u];
}

// [0, 1), multiples of 2^-24
fn uniform_f32(word: u32) -> f32 { return f32(word >> 8u) * 5.9604645e-8; }
fn uniform4(words: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(words >> vec4<u32>(8u)) * 5.9604645e-8;
}

// (0, 1)
fn inside4(words: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(((words >> vec4<u32>(9u)) << vec4<u32>(1u)) + vec4<u32>(1u)) * 5.9604645e-8;
}

// (0, 1], for logarithms
fn uniform_above_zero(word: u32) -> f32 { return f32((word >> 8u) + 1u) * 5.9604645e-8; }

// Two independent normal numbers from two words, by Box and Muller.
fn normal2(words: vec2<u32>) -> vec2<f32> {
    let radius = sqrt(-2.0 * log_f32(uniform_above_zero(words.x)));
    let half_turns = f32(words.y >> 8u) * 1.1920929e-7;  // [0, 2) in steps of 2^-23: exact
    return radius * vec2<f32>(sin_pi(half_turns, 1u), sin_pi(half_turns, 0u));
}
fn normal4(words: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(normal2(words.xy), normal2(words.zw));
}

fn exponential_f32(word: u32) -> f32 { return -log_f32(uniform_above_zero(word)); }

// A whole number below `range`: the product's upper word, which favours none by over 2^-32.
fn below(word: u32, range: u32) -> u32 { return wide_mul(word, range).y; }
fn exponential4(words: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(
        exponential_f32(words.x), exponential_f32(words.y),
        exponential_f32(words.z), exponential_f32(words.w)
    );
}
