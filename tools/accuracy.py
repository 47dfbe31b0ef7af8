"""How exact the shader library is on this adapter: python tools/accuracy.py [names] [options]

Runs each float32 function of shaders/lib over bit patterns spread evenly over all floats, and
densely where it curves, against float64 references; prints the largest error, where it is, what
becomes of subnormals, how many special values are wrong, and the error of WGSL's own function.
`--count N` bit patterns (default 2^20), `--checked` compiles with the run-time checks on.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy import special

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.shader_runner import gpu, run
from wgtorch.op import REGISTRY

ULP, RELATIVE, ROOTED = "ulp", "relative", "rel|abs"  # the last near roots, which lose all digits
SMALLEST = 2.0**-126
SPECIALS = np.array(
    [0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000,
     0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000,
     0x3F800000, 0xBF800000, 0x3F7FFFFF, 0xBF7FFFFF, 0x3F800001, 0xBF800001, 0x3F000000,
     0xBF000000, 0x40000000, 0xC0000000, 0x40490FDB, 0x3FC90FDB, 0x4B800000, 0xCB7FFFFF],
    np.uint32,
).view(np.float32)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A function of the library, what it should compute, and how far it may be off."""

    name: str
    reference: Callable
    limit: float = 4.0
    unit: str = ULP
    arity: int = 1
    builtin: str = ""  # WGSL's own function
    wgsl: str = ""  # over a and b; default: the name, with what it is given

    def said(self) -> str:
        return self.wgsl or f"{self.name}_f32({', '.join('ab'[: abs(self.arity)])})"


@dataclass(frozen=True)
class Report:
    """Errors of one sweep. `wrong` counts special results: NaN, infinities, signed zeros."""

    entry: Entry
    error: float
    at: tuple[float, ...]
    subnormal: float  # the error where operands or results are subnormal, in the entry's unit
    wrong: int
    wrong_at: tuple[float, ...]
    builtin: float

    @property
    def fine(self) -> bool:
        kept = flushes() or self.subnormal <= self.entry.limit
        return self.error <= self.entry.limit and kept and not self.wrong


@cache
def flushes() -> bool:
    """Whether this adapter reads or writes subnormals as zero."""
    tiny = np.array([1e-40], np.float32)
    return not run("a * b", tiny, np.ones(1, np.float32))[0]


def at_zero(function: Callable, value: float) -> Callable:
    """`function`, but `value` for an operand that is 0 (scipy forgets the sign of zeros)."""
    return lambda x: np.where(x == 0, np.copysign(value, x) if value == 0 else value, function(x))


def at_infinity(function: Callable, right: float, left: float) -> Callable:
    return lambda x: np.where(np.isposinf(x), right, np.where(np.isneginf(x), left, function(x)))


def positive_zero(function: Callable) -> Callable:
    return lambda x: function(x) + 0.0


def tanh_gelu(x):
    return x * special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


def gelu_slope(x):
    return special.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def mish(x):
    return x * np.tanh(np.logaddexp(0, x))


def polygamma(n, x):
    return special.polygamma(n.astype(int), x)


def entries() -> list[Entry]:
    return [*elementary(), *special_functions(), *binary(), *polynomials()]


def elementary() -> list[Entry]:
    named = {
        "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt,
        "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
        "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
        "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    }  # fmt: skip
    own = {
        "expm1": np.expm1, "log10": np.log10, "log1p": np.log1p, "reciprocal": np.reciprocal,
        "sigmoid": special.expit, "logsigmoid": positive_zero(special.log_expit),
        "softplus": lambda x: np.logaddexp(0, x), "silu": lambda x: x * special.expit(x),
        "square": np.square, "frac": lambda x: x - np.trunc(x),
    }  # fmt: skip
    found = [Entry(name, reference, builtin=f"{name}(a)") for name, reference in named.items()]
    found += [Entry(name, reference) for name, reference in own.items()]
    found.append(Entry("rsqrt", lambda x: 1 / np.sqrt(x), builtin="inverseSqrt(a)"))
    found.append(Entry("erf", at_zero(special.erf, 0.0)))
    return found


def special_functions() -> list[Entry]:
    named = {
        "erfc": special.erfc, "erfcx": special.erfcx, "ndtr": special.ndtr,
        "log_ndtr": special.log_ndtr, "erfinv": at_zero(special.erfinv, 0.0),
        "ndtri": special.ndtri, "entr": special.entr, "i0e": special.i0e,
        "i0": at_infinity(special.i0, np.inf, np.inf), "i1e": at_zero(special.i1e, 0.0),
        "i1": at_zero(at_infinity(special.i1, np.inf, -np.inf), 0.0), "logit": special.logit,
        "gelu": lambda x: x * special.ndtr(x), "mish": mish, "k0": special.k0, "k1": special.k1,
        "k0e": special.k0e, "k1e": special.k1e,
    }  # fmt: skip
    found = [Entry(name, reference, 1e-6, RELATIVE) for name, reference in named.items()]
    found += [Entry(name, reference, 1e-6, ROOTED) for name, reference in waves().items()]
    lgamma = at_infinity(special.gammaln, np.inf, np.inf)
    return [
        *found,
        Entry("lgamma", lgamma, 1e-6, ROOTED),
        Entry("digamma", special.digamma, 1e-6, ROOTED),
        Entry("sinc", np.sinc, 1e-6, ROOTED),
        Entry("gelu_slope", gelu_slope, 1e-6, ROOTED),
        Entry("gelu_tanh", tanh_gelu, 1e-6, ROOTED),  # its far tail is 0 in PyTorch's float32
    ]


def waves() -> dict[str, Callable]:
    """What oscillates, by the ops' own references: scipy loses the phase of what is far out."""
    names = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0", "airy_ai")
    return {name: REGISTRY[f"_{name}"].reference for name in names}


def binary() -> list[Entry]:
    return [
        Entry("pow", np.power, arity=2, builtin="pow(a, b)"),
        Entry("atan2", np.arctan2, arity=2, builtin="atan2(a, b)"),
        Entry("hypot", np.hypot, arity=2),
        Entry("div", np.divide, arity=2, builtin="a / b"),
        Entry("xlogy", special.xlogy, arity=2),
        Entry("xlog1py", special.xlog1py, arity=2),
        Entry("logaddexp", np.logaddexp, 1e-6, ROOTED, arity=2),
        Entry("logaddexp2", np.logaddexp2, 1e-6, ROOTED, arity=2),
        Entry("zeta", special.zeta, 1e-6, RELATIVE, arity=-2),
        Entry("polygamma", polygamma, 1e-6, RELATIVE, arity=-2),
        Entry("igamma", special.gammainc, 1e-6, RELATIVE, arity=-2),
        Entry("igammac", special.gammaincc, 1e-6, RELATIVE, arity=-2),
    ]


def polynomials() -> list[Entry]:
    ops = [op for name, op in REGISTRY.items() if "_polynomial_" in name]
    names = {"polynomial": "polynomial_f32", "input": "a", "n": "b"}
    said = [re.sub(r"\b(polynomial|input|n)\b", lambda m: names[m[1]], op.wgsl) for op in ops]
    return [
        Entry(op.name.strip("_"), op.reference, 1e-6, ROOTED, -2, wgsl=text)
        for op, text in zip(ops, said, strict=True)
    ]


@cache
def patterns(count: int) -> np.ndarray:
    """`count` floats evenly over all bit patterns, as many densely in [-30, 30], the specials."""
    draw = np.random.default_rng(0)
    step = 2**32 // count
    spread = np.arange(count, dtype=np.uint64) * step + draw.integers(0, step, count, np.uint64)
    dense = [draw.uniform(-1, 1, count // 2), draw.uniform(-30, 30, count // 2)]
    floats = spread.astype(np.uint32).view(np.float32)
    floats = np.where(np.isnan(floats), np.float32(np.nan), floats)
    return np.concatenate([SPECIALS, floats, *dense]).astype(np.float32)


def operands(entry: Entry, count: int) -> list[np.ndarray]:
    if entry.arity == 1:
        return [patterns(count)]
    draw = np.random.default_rng(1)
    if entry.arity < 0:  # (order, place), each where it means something
        if "polynomial" in entry.name:
            places, orders = draw.uniform(-2, 2, count), draw.integers(-1, 60, count)
            return [places.astype("f"), orders.astype("f")]
        if entry.name.startswith("igamma"):  # both over their range, and one like the other
            orders = np.exp(draw.uniform(-20, 10, count))
            like = orders * np.exp(draw.uniform(-1, 1, count))
            other = np.where(draw.random(count) < 0.5, like, np.exp(draw.uniform(-20, 10, count)))
            return [orders.astype("f"), other.astype("f")]
        orders = draw.integers(1, 6, count) if entry.name == "polygamma" else draw.uniform(1.1, 30)
        return [np.full(count, orders, np.float32), draw.uniform(0.1, 50, count).astype("f")]
    grid = [g.ravel() for g in np.meshgrid(SPECIALS, SPECIALS)]
    a, b = patterns(count // 2), patterns(count // 2).copy()
    near = np.exp(draw.uniform(-20, 20, count)), draw.uniform(-12, 12, count)
    draw.shuffle(b)
    pairs = zip(grid, (a, b), near, strict=True)
    return [np.concatenate(parts).astype(np.float32) for parts in pairs]


def errors(entry: Entry, got: np.ndarray, exact: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the error of each finite result, whether a special result is wrong)."""
    rounded = exact.astype(np.float32)
    difference = np.abs(got.astype(np.float64) - exact)
    if entry.unit == ULP:
        error = difference / np.spacing(np.abs(rounded)).astype(np.float64)
    else:
        error = difference / np.maximum(np.abs(exact), SMALLEST)
    if entry.unit == ROOTED:
        error = np.minimum(error, difference)
    limit = np.float64(np.finfo(np.float32).max) * (1 - 1e-6)
    edge = (np.abs(exact) > limit) & (np.abs(exact) < 3.41e38) & (np.abs(got) > limit)
    unlike = (np.isnan(got) != np.isnan(exact)) | (np.isinf(got) != np.isinf(rounded))
    unlike |= np.isinf(rounded) & (got != rounded)
    unlike |= (exact == 0) & (got == 0) & (np.signbit(got) != np.signbit(exact))
    plain = np.isfinite(got) & np.isfinite(rounded)
    return np.where(plain, np.nan_to_num(error), 0), unlike & ~edge


def sweep(entry: Entry, count: int = 1 << 20, trusted: bool = True) -> Report:
    """Runs one function over many operands."""
    given = operands(entry, count)
    got = run(entry.said(), *given, trusted=trusted)
    with np.errstate(all="ignore"):
        exact = entry.reference(*(g.astype(np.float64) for g in given))
        error, wrong = errors(entry, got, exact)
        tiny = (np.abs(exact) < SMALLEST) & (exact != 0)
        for operand in given:
            tiny |= (np.abs(operand) < SMALLEST) & (operand != 0)
        if flushes():
            wrong &= ~tiny
        usual = np.where(tiny, 0, error)
        worst, wrongs = int(np.argmax(usual)), np.flatnonzero(wrong)
        builtin = np.nan
        if entry.builtin:
            loose, _ = errors(entry, run(entry.builtin, *given, trusted=trusted), exact)
            builtin = float(np.max(np.where(tiny, 0, loose)))
    place = [float(g[worst]) for g in given]
    first = [float(g[wrongs[0]]) for g in given] if len(wrongs) else []
    return Report(entry, float(usual[worst]), tuple(place), float(np.max(np.where(tiny, error, 0))),
                  len(wrongs), tuple(first), builtin)  # fmt: skip


def line(report: Report) -> str:
    entry = report.entry
    show = "{:10.2f}".format if entry.unit == ULP else "{:10.1e}".format
    place = ", ".join(f"{v:.8g}" for v in report.at)
    tiny = "    flushed" if flushes() and report.subnormal > 4 else show(report.subnormal) + " "
    builtin = "" if np.isnan(report.builtin) else show(report.builtin)
    wrong = f"{report.wrong} e.g. {report.wrong_at}" if report.wrong else "0"
    mark = " " if report.fine else "!"
    return (f"{mark} {entry.name:31}{show(report.error)} {entry.unit:9}{tiny:12}{builtin:>12}  "
            f"{wrong:8} at {place}")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=1 << 20)
    parser.add_argument("--checked", action="store_true", help="modules with run-time checks")
    options = parser.parse_args()
    started = time.perf_counter()
    kind = "checked" if options.checked else "trusted"
    print(f"{gpu().traits.summary}, {kind} modules, {options.count} bit patterns")
    print(
        "  function                       error  unit      subnormals    built-in  wrong    worst"
    )
    chosen = [e for e in entries() if not options.names or e.name in options.names]
    reports = [sweep(entry, options.count, not options.checked) for entry in chosen]
    for report in reports:
        print(line(report))
    bad = [report.entry.name for report in reports if not report.fine]
    print(f"{len(reports)} functions in {time.perf_counter() - started:.1f} s;", end=" ")
    print(f"outside their limits: {', '.join(bad)}" if bad else "all within their limits")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
