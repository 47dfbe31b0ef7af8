"""The integer functions of shaders/lib against Python's: 32 bits, 64 native, 64 of two words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tools.shader_runner import run

pytestmark = pytest.mark.usefixtures("webgpu")

Pair = tuple[np.ndarray, np.ndarray]


def wrapped(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def truncated(x: int, y: int) -> int:
    size = abs(x) // abs(y)
    return size if (x < 0) == (y < 0) else -size


def power(x: int, y: int, bits: int) -> int:
    """0 for a negative power of anything but 1 and -1, as PyTorch."""
    if y < 0:
        return {1: 1, -1: 1 - 2 * (y % 2)}.get(x, 0)
    return pow(x, y, 1 << bits)


def divisor(function: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    """0 where the divisor is."""
    return lambda x, y, bits: function(x, y) if y else 0


def shifted(x: int, n: int, bits: int) -> int:
    return x << n if 0 <= n < bits else 0


def unshifted(x: int, n: int, bits: int) -> int:
    return x >> (n if 0 <= n < bits else bits)


BINARY: dict[str, Callable[[int, int, int], int]] = {
    "floor_div": divisor(lambda x, y: x // y),
    "floor_mod": divisor(lambda x, y: x % y),
    "trunc_div": divisor(truncated),
    "fmod": divisor(lambda x, y: x - y * truncated(x, y)),
    "pow": power,
    "shl": shifted,
    "shr": unshifted,
    "gcd": lambda x, y, bits: int(np.gcd.reduce(np.array([x, y], object))),
    "maximum": lambda x, y, bits: max(x, y),
    "minimum": lambda x, y, bits: min(x, y),
    "clamp_min": lambda x, y, bits: max(x, y),
    "clamp_max": lambda x, y, bits: min(x, y),
}
UNARY: dict[str, Callable[[int], int]] = {
    "relu": lambda x: max(x, 0),
    "square": lambda x: x * x,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "floor": lambda x: x,
}
COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
               "gt": np.greater, "ge": np.greater_equal}  # fmt: skip


def pairs(bits: int) -> Pair:
    """Every pair of numbers where something happens, and some of every length."""
    top = 1 << bits - 1
    draw = np.random.default_rng(4)
    numbers = {0, 1, -1, 2, -2, 3, -7, 10, 31, 32, 33, 63, 64, 65, top - 1, -top, 1 - top, 65535,
               65536, -65536, 1 << bits // 2, (1 << bits // 2) - 1, (1 << 24) + 1}  # fmt: skip
    numbers |= {int(n) >> int(draw.integers(bits)) for n in draw.integers(-top, top - 1, 25)}
    grid = np.meshgrid(np.array(sorted(numbers), np.int64), np.array(sorted(numbers), np.int64))
    kind = np.int32 if bits == 32 else np.int64
    return grid[0].ravel().astype(kind), grid[1].ravel().astype(kind)


@pytest.fixture(params=["i32", "i64e", "i64"])
def kind(request: pytest.FixtureRequest, traits) -> str:
    """Each of the types in turn; the native one only where the adapter has it."""
    if request.param == "i64" and not traits.int64:
        pytest.skip("no shader-int64")
    return request.param


def call(expression: str, kind: str, *arrays: np.ndarray, boolean: bool = False) -> np.ndarray:
    if boolean:
        native = {"kinds": ["i64"] * len(arrays)} if kind == "i64" else {}
        return run(f"u32({expression})", *arrays, result="uint32", **native).astype(bool)
    native = {"kinds": ["i64"] * len(arrays), "kind": "i64"} if kind == "i64" else {}
    return run(expression, *arrays, result=arrays[0].dtype.name, **native)


def assert_equal(got: np.ndarray, want: list[int], bits: int, *operands: np.ndarray) -> None:
    exact = [wrapped(int(w), bits) for w in want]
    wrong = [i for i, (g, w) in enumerate(zip(got.tolist(), exact, strict=True)) if g != w]
    shown = [(*(o[i] for o in operands), got[i], exact[i]) for i in wrong[:5]]
    assert not wrong, f"(operands, got, want): {shown}"


@pytest.mark.parametrize("name", BINARY)
def test_function_of_two(name: str, kind: str):
    bits = 32 if kind == "i32" else 64
    x, y = pairs(bits)
    want = [BINARY[name](a, b, bits) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert_equal(call(f"{name}_{kind}(a, b)", kind, x, y), want, bits, x, y)


@pytest.mark.parametrize("name", UNARY)
def test_function_of_one(name: str, kind: str):
    bits = 32 if kind == "i32" else 64
    x, _ = pairs(bits)
    builtin = kind == "i32" and name in ("abs", "sign")
    got = call(f"{name}(a)" if builtin else f"{name}_{kind}(a)", kind, x)
    assert_equal(got, [UNARY[name](v) for v in x.tolist()], bits, x)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison(name: str, kind: str):
    x, y = pairs(32 if kind == "i32" else 64)
    got = call(f"{name}_{kind}(a, b)", kind, x, y, boolean=True)
    assert np.array_equal(got, COMPARISONS[name](x, y))


def test_least_common_multiple(kind: str):
    x, y = (v % 1000 - 500 for v in pairs(32 if kind == "i32" else 64))
    assert np.array_equal(call(f"lcm_{kind}(a, b)", kind, x, y), np.lcm(x, y))


def test_operators_of_two_words():
    x, y = pairs(64)
    operators = {"add": x + y, "sub": x - y, "mul": x * y, "and": x & y, "or": x | y, "xor": x ^ y}
    for name, want in operators.items():
        assert np.array_equal(run(f"i64_{name}(a, b)", x, y, result="int64"), want), name
    for name, want in {"neg": -x, "not": ~x}.items():
        assert np.array_equal(run(f"i64_{name}(a)", x, result="int64"), want), name


def test_wide_integers_become_floats_to_nearest():
    x, _ = pairs(64)
    draw = np.random.default_rng(5)
    some = draw.integers(-(2**63), 2**63 - 1, 2000) >> draw.integers(0, 63, 2000)
    ties = (np.int64(1) << draw.integers(30, 62, 500)) + (np.int64(1) << draw.integers(0, 30, 500))
    x = np.concatenate([x, some, ties, -ties])
    assert np.array_equal(run("i64_to_f32(a)", x), x.astype(np.float32))


def test_conversions_of_two_words():
    x = np.array([0, 1, -1, 2**31 - 1, -(2**31), 12345], np.int32)
    assert np.array_equal(run("i64_from_i32(a)", x, result="int64"), x.astype(np.int64))
    unsigned = x.view(np.uint32)
    assert np.array_equal(run("i64_from_u32(a)", unsigned, result="int64"), unsigned)
    wide, _ = pairs(64)
    assert np.array_equal(run("i64_to_i32(a)", wide, result="int32"), wide.astype(np.int32))
    truth = run("u32(i64_to_bool(a))", wide, result="uint32")
    assert np.array_equal(truth.astype(bool), wide != 0)
    assert np.array_equal(run("i64_from_bool(a > 0)", x, result="int64"), x > 0)


def test_small_integers_wrap():
    x = np.array([0, 1, -1, 127, 128, 255, 256, -128, -129, 32767, 32768, -32769, 2**31 - 1], "i4")
    for name, small in {"u8": np.uint8, "i8": np.int8, "i16": np.int16}.items():
        got = run(f"wrap_{name}(a)", x, result="int32")
        assert np.array_equal(got, x.astype(small)), name
