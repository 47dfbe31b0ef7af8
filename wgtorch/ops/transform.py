"""The transform: one Fourier transform along one dimension, which all others are made of.

On a GPU a length is a product of small numbers, one pass each (shaders/fft.wgsl). A length with a
large prime factor is done by Bluestein's way, as a convolution with a chirp, which is two
transforms of a longer, smoother length. Roots of unity come from tables made in float64.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from wgtorch.dtype import complex64
from wgtorch.op import Facts, Other, Pass, Structured, declare
from wgtorch.ops.samples import normal

GROUP, MAX_GROUPS = 256, 65535
RADICES = (8, 4, 2, 3, 5, 7, 11, 13)  # tried in this order
MOST_KEPT = 1 << 22  # elements of tables kept on a device


# Lengths


@lru_cache(maxsize=4096)
def factors(n: int) -> tuple[int, ...]:
    """The passes of a length; none where it has a larger prime factor."""
    found = []
    for radix in RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return tuple(found) if n == 1 else ()


def smooth(least: int) -> int:
    """A length of at least that, which few passes transform."""
    power = 1 << (least - 1).bit_length()
    return min(m for m in (power, power // 8 * 5, power // 4 * 3) if m >= least)


# Tables


def roots(n: int) -> np.ndarray:
    """cos and sin of every n-th part of a turn."""
    return np.exp(2j * np.pi * (np.arange(n) / n))


def chirp(n: int) -> np.ndarray:
    """exp(i pi k^2 / n)"""
    squares = np.arange(n, dtype=np.int64) ** 2 % (2 * n)
    return np.exp(1j * np.pi * (squares / n))


def chirp_spectrum(n: int) -> np.ndarray:
    """What a convolution with the chirp multiplies a spectrum by, for the forward transform."""
    long = smooth(2 * n - 1)
    wave = np.zeros(long, np.complex128)
    wave[:n] = chirp(n)
    wave[long - n + 1 :] = wave[1:n][::-1]
    return np.fft.fft(wave) / long


TABLES: WeakKeyDictionary[Any, dict] = WeakKeyDictionary()  # by backend


def table(input: Any, make: Any, n: int) -> Any:
    """A table on the device of `input`."""
    known = TABLES.setdefault(input.device.backend, {})
    if (make, n) not in known:
        if sum(t.numel() for t in known.values()) + n > MOST_KEPT:
            known.clear()
        known[make, n] = input.new_tensor(make(n).astype(np.complex64))
    return known[make, n]


# Passes


class Rows(NamedTuple):
    """Rows of `size` numbers, `inner` apart; `outer` and `inner` rows beside each other."""

    outer: int
    size: int
    inner: int

    @property
    def nth(self) -> str:
        return f"(outer * {self.size}u + k) * launch.inner + inner"


class Ends(NamedTuple):
    """How a transform's first pass gets its numbers and its last one leaves them, as WGSL; THERE
    is what the pass before wrote, HERE what this one writes."""

    load: str
    store: str


HEADS = ("fn load(outer: u32, k: u32, inner: u32) -> c64",
         "fn store(outer: u32, k: u32, inner: u32, v: c64)")  # fmt: skip
FEW = {
    2: "*v = array<c64, 2>((*v)[0] + (*v)[1], (*v)[0] - (*v)[1]);",
    4: """let x = dft4((*v)[0], (*v)[1], (*v)[2], (*v)[3]);
    *v = array<c64, 4>(x.a, x.b, x.c, x.d);""",
    8: """let x = dft4((*v)[0], (*v)[2], (*v)[4], (*v)[6]);
    let y = dft4((*v)[1], (*v)[3], (*v)[5], (*v)[7]);
    let b = eighth(y.b);
    let c = turned(y.c);
    let d = turned(eighth(y.d));
    *v = array<c64, 8>(x.a + y.a, x.b + b, x.c + c, x.d + d,
                       x.a - y.a, x.b - b, x.c - c, x.d - d);""",
}
ANY = """let x = *v;
    for (var k = 0u; k < RADIX; k++) {
        var sum = x[0];
        for (var r = 1u; r < RADIX; r++) {
            sum += mul_c64(x[r], root(r * k % RADIX * launch.span));
        }
        (*v)[k] = sum;
    }"""
READABLE = ("input", "roots", "chirp", "kernel", "t0", "t1")


def dft(radix: int) -> str:
    return f"fn dft(v: ptr<function, array<c64, {radix}>>) {{\n    {FEW.get(radix, ANY)}\n}}"


def passes(facts: Facts, rows: Rows, chains: list[tuple[float, Ends]]) -> list[Pass]:
    """Transforms, each with the sign of its exponent, of what the one before left."""
    steps: list[Pass] = []
    radices = factors(rows.size) or (1,)
    total = len(radices) * len(chains)
    for sign, ends in chains:
        done = 1
        for radix in radices:
            number, front = len(steps), [f"const RADIX = {radix}u;", dft(radix), "elementwise.wgsl"]
            load = ends.load if done == 1 else f"return THERE_at({rows.nth});"
            store = ends.store if done * radix == rows.size else f"set_HERE({rows.nth}, v);"
            bodies = [load.replace("THERE", f"t{1 - number % 2}")]
            bodies.append(store.replace("HERE", f"t{number % 2}"))
            front += [f"{h} {{ {b} }}" for h, b in zip(HEADS, bodies, strict=True)]
            front += ["fft_few.wgsl"] if radix in (4, 8) else []
            steps.append(butterflies(facts, rows, radix, done, (number, total), sign, front))
            done *= radix
    return steps


def butterflies(facts: Facts, rows: Rows, radix: int, done: int, place: tuple[int, int],
                sign: float, front: list[str]) -> Pass:  # fmt: skip
    number, total = place
    last, span, here = number == total - 1, rows.size // radix, f"t{number % 2}"
    count, inverse = rows.outer * span * rows.inner, facts.attrs["inverse"]
    text = " ".join(front)
    reads = [n for n in READABLE if n == "roots" or f"{n}_at(" in text or f"{n}_nth(" in text]
    places = (("input", facts.layouts[0]),) if "input" in reads else ()
    size = rows.outer * rows.size * rows.inner
    return Pass(
        "fft.wgsl",
        (min(-(-count // GROUP), MAX_GROUPS), 1, 1),
        (count, span, done, span // done, rows.inner, sign, 1.0 if inverse else -1.0,
         facts.attrs["scale"] if last else 1.0),
        tuple(reads),
        ("result",) if last else (here,),
        tuple(front),
        ((here, complex64, size),) if number < 2 and not last else (),
        places=places,
    )  # fmt: skip


def plan(facts: Facts) -> list[Pass]:
    shape, dim = facts.out.shape, facts.attrs["dim"]
    if not facts.out.numel:
        return []
    size, inner = shape[dim], int(np.prod(shape[dim + 1 :], dtype=np.int64))
    rows = Rows(facts.out.numel // size // inner, size, inner)
    sign = 1.0 if facts.attrs["inverse"] else -1.0
    if facts.layouts[2] is None:
        ends = Ends(f"return input_nth({rows.nth});", f"set_result({rows.nth}, v);")
        return passes(facts, rows, [(sign, ends)])
    chirped = "c64(chirp_at(k).x, launch.whole * chirp_at(k).y)"
    long = rows._replace(size=facts.layouts[1].numel)  # type: ignore[union-attr]
    entered = (
        f"if k >= {size}u {{ return c64(0.0, 0.0); }}"
        f" return mul_c64(input_nth({rows.nth}), {chirped});"
    )
    turned = "c64(kernel_at(k).x, -launch.whole * kernel_at(k).y)"
    left = f"if k < {size}u {{ set_result({rows.nth}, mul_c64(v, {chirped})); }}"
    first = Ends(entered, f"set_HERE({long.nth}, v);")
    second = Ends(f"return mul_c64(THERE_at({long.nth}), {turned});", left)
    return passes(facts, long, [(-1.0, first), (1.0, second)])


# The op


def with_tables(door):
    def call(input, dim, inverse, scale):
        size = input.shape[dim]
        if input.is_cpu or input.is_meta or not input.numel():
            return door(input, None, None, None, dim, inverse, scale)
        if factors(size) or size == 1:
            return door(input, table(input, roots, size), None, None, dim, inverse, scale)
        tables = table(input, roots, smooth(2 * size - 1)), table(input, chirp, size)
        return door(input, *tables, table(input, chirp_spectrum, size), dim, inverse, scale)

    return call


def samples(rng):
    def numbers(*shape):
        return (normal(rng, *shape) + 1j * normal(rng, *shape)).astype(np.complex64)

    yield (numbers(3, 8),), {"dim": 1, "inverse": False, "scale": 1.0}
    yield (numbers(60, 3),), {"dim": 0, "inverse": True, "scale": 0.5}
    yield (numbers(2, 17, 3),), {"dim": 1, "inverse": False, "scale": 1.0}  # Bluestein
    yield (numbers(2, 38),), {"dim": 1, "inverse": True, "scale": 0.1}


@declare(
    Structured,
    shape=lambda input, *tables, **attrs: input,
    dtype=lambda input, *tables, **attrs: input,
    plan=plan,
    vjp={
        "input": lambda grad, dim, inverse, scale: grad._fourier(dim, not inverse, scale),
    },
    samples=samples,
    promotes=False,
    complex=True,
    holomorphic=False,
    gate=with_tables,
    torch="none",
)
def _fourier(input, roots: Other, chirp: Other, kernel: Other, dim: int, inverse: bool,
             scale: float):  # fmt: skip
    "sum over j of input[j] exp(-2 pi i j k / n) along dim, times scale; inverse: with + in front."
    if not input.size:
        return input
    if inverse:
        return np.fft.ifft(input, axis=dim, norm="forward") * input.real.dtype.type(scale)
    return np.fft.fft(input, axis=dim) * input.real.dtype.type(scale)
