// Fourier transforms of 2, 4, 8 and 16 numbers, written out.
// expects: launch.sign, of the exponent

fn turned(z: c64) -> c64 { return c64(-launch.sign * z.y, launch.sign * z.x); }

struct Four { a: c64, b: c64, c: c64, d: c64 }

fn dft4(a: c64, b: c64, c: c64, d: c64) -> Four {
    let side = turned(b - d);
    return Four(a + c + (b + d), a - c + side, a + c - (b + d), a - c - side);
}

fn eighth(z: c64) -> c64 { return (z + turned(z)) * 0.70710678; }

fn sixteenth(z: c64, x: f32, y: f32) -> c64 { return mul_c64(z, c64(x, launch.sign * y)); }
