"""Fourier transforms that fit into a workgroup's memory: one pass reads and writes each element
once. Each thread holds a few numbers of a row; between the radices they change hands.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

GROUP = 256
LONGEST = 4096
LEAST_ABREAST = 4  # rows side by side that fill what memory reads at once
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
    16: """let x = dft4((*v)[0], (*v)[4], (*v)[8], (*v)[12]);
    let y = dft4((*v)[1], (*v)[5], (*v)[9], (*v)[13]);
    let z = dft4((*v)[2], (*v)[6], (*v)[10], (*v)[14]);
    let w = dft4((*v)[3], (*v)[7], (*v)[11], (*v)[15]);
    let a = dft4(x.a, y.a, z.a, w.a);
    let b = dft4(x.b, sixteenth(y.b, 0.92387953, 0.38268343), eighth(z.b),
                 sixteenth(w.b, 0.38268343, 0.92387953));
    let c = dft4(x.c, eighth(y.c), turned(z.c), turned(eighth(w.c)));
    let d = dft4(x.d, sixteenth(y.d, 0.38268343, 0.92387953), turned(eighth(z.d)),
                 sixteenth(w.d, -0.92387953, -0.38268343));
    *v = array<c64, 16>(a.a, b.a, c.a, d.a, a.b, b.b, c.b, d.b,
                        a.c, b.c, c.c, d.c, a.d, b.d, c.d, d.d);""",
}
ANY = """let x = *v;
    for (var k = 0u; k < RADIX; k++) {
        var sum = x[0];
        for (var r = 1u; r < RADIX; r++) {
            sum += mul_c64(x[r], root(r * k % RADIX * SPAN));
        }
        (*v)[k] = sum;
    }"""


def dft(radix: int, span: str, name: str = "dft") -> str:
    """WGSL that transforms `radix` numbers; roots of that order are `span` apart."""
    text = FEW.get(radix, ANY.replace("RADIX", f"{radix}u").replace("SPAN", span))
    return f"fn {name}(v: ptr<function, array<c64, {radix}>>) {{\n    {text}\n}}"


@lru_cache(maxsize=4096)
def radices(n: int) -> tuple[int, ...]:
    """Of the passes: as few as may be, of up to 16 numbers, and none much longer than others."""
    odd, bits = n, 0
    while odd % 2 == 0:
        odd, bits = odd // 2, bits + 1
    count = -(-bits // 4)
    found = [1 << (bits // count + (k < bits % count)) for k in range(count)]
    for prime in (3, 5, 7, 11, 13):
        while odd % prime == 0:
            found.append(prime)
            odd //= prime
    return tuple(found)


def twists(n: int) -> np.ndarray:
    """What numbers are turned by between passes, in the order in which threads ask for them."""
    found, done = [np.zeros(0, np.complex128)], 1
    for radix in radices(n):
        turns = np.outer(np.arange(1, radix), np.arange(done)) / (radix * done)
        found += [np.exp(2j * np.pi * turns).reshape(-1)] * (done > 1)
        done *= radix
    return np.concatenate(found)


class Lot(NamedTuple):
    """The rows that a workgroup transforms at once."""

    size: int
    rows: int
    threads: int  # of each
    length: int  # elements of memory for each
    shift: int
    is_abreast: bool

    @property
    def constants(self) -> str:
        return (
            f"const ROWS = {self.rows}u;\nconst THREADS = {self.threads}u;\n"
            f"const LENGTH = {self.length}u;\nconst SHIFT = {self.shift}u;\n"
            f"const ABREAST = {str(self.is_abreast).lower()};"
        )


def lot(size: int, inner: int, traits: Any) -> Lot | None:
    """How workgroups do rows of `size` numbers, `inner` apart, where that is best."""
    if traits.is_software or not 1 < size <= LONGEST:  # there, barriers are dear
        return None
    threads = min(size // max(radices(size)), GROUP)
    for shift in (5, 31):
        length = size + (size >> shift) + (threads < GROUP // 2)  # an odd step between rows
        rows = min(GROUP // threads, traits.workgroup_bytes // (8 * length))
        if rows >= (1 if inner == 1 else LEAST_ABREAST):
            return Lot(size, rows, threads, length, shift, inner > 1)
    return None


def text(lot: Lot) -> list[str]:
    """The declarations in front of fft_rows.wgsl, but for `load` and `store`."""
    found, calls, done, turn = [lot.constants], "", 1, lot.size
    for number, radix in enumerate(radices(lot.size)):
        span = lot.size // radix
        found += [dft(radix, f"{span}u", f"dft_{radix}")] * (
            radix not in radices(lot.size)[:number]
        )
        found.append(one_pass(lot, number, radix, done, turn))
        calls += f" pass_{number}(row, x);"
        turn += (radix - 1) * done * (done > 1)
        done *= radix
    return [*found, f"fn transform(row: Row, x: u32) {{{calls} }}"]


def one_pass(lot: Lot, number: int, radix: int, done: int, turn: int) -> str:
    """Thread x does every `threads`-th butterfly; all of them read before any of them writes."""
    span, is_first, is_last = lot.size // radix, done == 1, done * radix == lot.size
    lines, ends = [], []
    for b in range(-(-span // lot.threads)):
        met = ["row.is_there"] * (is_first or is_last)
        met += [f"j{b} < {span}u"] * ((b + 1) * lot.threads > span)
        when = f"if {' && '.join(met)} " if met else ""
        there = "load(row.outer, {}, row.inner)" if is_first else "kept(row, {})"
        taken = ", ".join(there.format(f"j{b} + {r * span}u") for r in range(radix))
        lines += [f"let j{b} = x + {b * lot.threads}u;", f"var v{b}: array<c64, {radix}>;"]
        lines.append(f"{when}{{ v{b} = array<c64, {radix}>({taken});")
        for r in range(1, radix if done > 1 else 1):
            place = f"{turn + (r - 1) * done}u + j{b} % {done}u"
            lines.append(f"v{b}[{r}] = mul_c64(v{b}[{r}], root({place}));")
        lines.append(f"dft_{radix}(&v{b}); }}")
        ends.append(f"{when}{{ let first = j{b} / {done}u * {done * radix}u + j{b} % {done}u;")
        here = "store(row.outer, {}, row.inner, {} * launch.scale);"
        here = here if is_last else "keep(row, {}, {});"
        ends += [here.format(f"first + {r * done}u", f"v{b}[{r}]") for r in range(radix)]
        ends.append("}")
    lines += [*["workgroupBarrier();"] * (not is_last), *ends]
    lines += ["workgroupBarrier();"] * (not is_last)
    return f"fn pass_{number}(row: Row, x: u32) {{\n    " + "\n    ".join(lines) + "\n}"
