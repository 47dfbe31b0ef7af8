"""The transform: one Fourier transform along one dimension, which all others are made of.

On a GPU a length is a product of small numbers: one pass does what fits into a workgroup's memory
(whole_transforms.py), else one pass each of them (shaders/fft.wgsl). A length with a large prime
factor is done by Bluestein's way, as a convolution with a chirp, which is two transforms of a
longer, smoother length. Roots of unity come from tables made in float64.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from wgtorch.device import Device
from wgtorch.dtype import complex64
from wgtorch.op import Facts, Other, Pass, Structured, declare
from wgtorch.ops import whole_transforms as whole
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
    """cos and sin of every n-th part of a turn; behind them, what is asked for in one pass."""
    waves = np.exp(2j * np.pi * (np.arange(n) / n))
    return np.concatenate((waves, whole.twists(n))) if n <= whole.LONGEST else waves


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
    """A table on the device of `input`; one for all transforms that the input is inside of."""
    place = Device(input.device.type, input.device.index)
    known = TABLES.setdefault(place.backend, {})
    if (make, n) not in known:
        if sum(t.numel() for t in known.values()) + n > MOST_KEPT:
            known.clear()
        known[make, n] = input.new_tensor(make(n), dtype=complex64, device=place)
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
READABLE = ("input", "roots", "chirp", "kernel", "t0", "t1")


def passes(facts: Facts, rows: Rows, chains: list[tuple[float, Ends]]) -> list[Pass]:
    """Transforms, each with the sign of its exponent, of what the one before left."""
    steps: list[Pass] = []
    lot = whole.lot(rows.size, rows.inner, facts.traits)
    radices = (rows.size,) if lot else factors(rows.size) or (1,)
    total = len(radices) * len(chains)
    for sign, ends in chains:
        done = 1
        for radix in radices:
            number = len(steps)
            load = ends.load if done == 1 else f"return THERE_at({rows.nth});"
            store = ends.store if done * radix == rows.size else f"set_HERE({rows.nth}, v);"
            bodies = [load.replace("THERE", f"t{1 - number % 2}")]
            bodies.append(store.replace("HERE", f"t{number % 2}"))
            front = [f"{h} {{ {b} }}" for h, b in zip(HEADS, bodies, strict=True)]
            place = (number, total)
            if lot is not None:
                steps.append(at_once(facts, rows, lot, place, sign, front))
            else:
                steps.append(butterflies(facts, rows, radix, done, place, sign, front))
            done *= radix
    return steps


def at_once(facts: Facts, rows: Rows, lot: whole.Lot, place: tuple[int, int], sign: float,
            front: list[str]) -> Pass:  # fmt: skip
    count = rows.outer * rows.inner
    front = [*front, *whole.text(lot), "fft_few.wgsl"]
    numbers = (count, rows.inner, sign)
    return step(facts, rows, "fft_rows.wgsl", -(-count // lot.rows), numbers, place, front)


def butterflies(facts: Facts, rows: Rows, radix: int, done: int, place: tuple[int, int],
                sign: float, front: list[str]) -> Pass:  # fmt: skip
    span = rows.size // radix
    count = rows.outer * span * rows.inner
    front = [
        f"const RADIX = {radix}u;",
        whole.dft(radix, "launch.span"),
        "elementwise.wgsl",
        *front,
    ]
    front += ["fft_few.wgsl"] if radix in (4, 8) else []
    numbers = (count, span, done, span // done, rows.inner, sign)
    return step(facts, rows, "fft.wgsl", -(-count // GROUP), numbers, place, front)


def step(facts: Facts, rows: Rows, shader: str, groups: int, numbers: tuple[float, ...],
         place: tuple[int, int], front: list[str]) -> Pass:  # fmt: skip
    """One of so many passes; `numbers` end with the sign of the exponent."""
    number, total = place
    last, here, said = number == total - 1, f"t{number % 2}", " ".join(front)
    reads = [n for n in READABLE if n == "roots" or f"{n}_at(" in said or f"{n}_nth(" in said]
    size = rows.outer * rows.size * rows.inner
    whole_sign, scale = 1.0 if facts.attrs["inverse"] else -1.0, facts.attrs["scale"]
    return Pass(
        shader,
        (min(groups, MAX_GROUPS), 1, 1),
        (*numbers, whole_sign, scale if last else 1.0),
        tuple(reads),
        ("result",) if last else (here,),
        tuple(front),
        ((here, complex64, size),) if number < 2 and not last else (),
        places=(("input", facts.layouts[0]),) if "input" in reads else (),
    )  # fmt: skip


def plan(facts: Facts) -> list[Pass]:
    shape, dim = facts.out.shape, facts.attrs["dim"]
    if not facts.out.numel:
        return []
    size, inner = shape[dim], int(np.prod(shape[dim + 1 :], dtype=np.int64))
    rows = Rows(facts.out.numel // size // inner, size, inner)
    sign = 1.0 if facts.attrs["inverse"] else -1.0
    if facts.layouts[2] is None:
        ends = Ends(f"return {entered(facts, rows)};", f"set_result({rows.nth}, v);")
        return passes(facts, rows, [(sign, ends)])
    chirped = "c64(chirp_at(k).x, launch.whole * chirp_at(k).y)"
    long = rows._replace(size=smooth(2 * size - 1))
    first = (
        f"if k >= {size}u {{ return c64(0.0, 0.0); }}"
        f" return mul_c64({entered(facts, rows)}, {chirped});"
    )
    turned = "c64(kernel_at(k).x, -launch.whole * kernel_at(k).y)"
    left = f"if k < {size}u {{ set_result({rows.nth}, mul_c64(v, {chirped})); }}"
    there = Ends(first, f"set_HERE({long.nth}, v);")
    back = Ends(f"return mul_c64(THERE_at({long.nth}), {turned});", left)
    return passes(facts, long, [(-1.0, there), (1.0, back)])


def entered(facts: Facts, rows: Rows) -> str:
    """A number of the input, which may be real."""
    number = f"input_nth({rows.nth})"
    return number if facts.dtypes[0].is_complex else f"c64({number}, 0.0)"  # type: ignore[union-attr]


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
    yield (normal(rng, 3, 12),), {"dim": 1, "inverse": False, "scale": 1.0}


def fourier_grad(grad, input_dtype, dim, inverse, scale):
    back = grad._fourier(dim, not inverse, scale)
    return back if input_dtype.is_complex else back.real


@declare(
    Structured,
    shape=lambda input, *tables, **attrs: input,
    dtype=lambda input, *tables, **attrs: input.to_complex(),
    plan=plan,
    vjp={"input": fourier_grad},
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
        return input.astype(np.result_type(input.dtype, np.complex64))
    if inverse:
        return np.fft.ifft(input, axis=dim, norm="forward") * input.real.dtype.type(scale)
    return np.fft.fft(input, axis=dim) * input.real.dtype.type(scale)
