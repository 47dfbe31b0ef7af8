"""The float functions of shaders/lib: as near to the exact value as tools/accuracy.py says.

Special values are exact. Adapters that flush subnormals are excused where one is read or made.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import wgtorch
from tools import accuracy
from tools.shader_runner import gpu, run
from wgtorch.backends.webgpu import library

pytestmark = pytest.mark.usefixtures("webgpu")

nan, inf = np.float32("nan"), np.float32("inf")
NUMBERS = np.array(
    [0.0, -0.0, 1, -1, 1.5, -1.5, 2.5, -2.5, 7, -7, 1e-40, -1e-40, 2e-40, 1e38, -1e38, 3.4028235e38,
     1.1754944e-38, 1e-45, 16777216, -16777215, 0.1, nan, inf, -inf],
    np.float32,
)  # fmt: skip
LEFT, RIGHT = (grid.ravel().copy() for grid in np.meshgrid(NUMBERS, NUMBERS))
CONTEXTS = {  # what an argument may be in a fused kernel, and its value when it is rounded
    "a * b": lambda a, b: a * b,
    "-(a * a)": lambda a, b: -(a * a),
    "a + b": lambda a, b: a + b,
    "1.0 - a": lambda a, b: np.float32(1) - a,
    "div_f32(a, b)": lambda a, b: a / b,
}


def same(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Equal to the bit, but for NaNs' payloads."""
    return (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))


def assert_same(got: np.ndarray, want: np.ndarray, *operands: np.ndarray) -> None:
    wrong = np.flatnonzero(~same(got, want.astype(np.float32)))
    shown = [(*(o[i] for o in operands), got[i], want[i]) for i in wrong[:5]]
    assert not len(wrong), f"(operands, got, want): {shown}"


def calm(*arrays: np.ndarray) -> np.ndarray:
    """Where no operand or result is subnormal, on an adapter that flushes those."""
    keep = np.ones(arrays[0].shape, bool)
    for array in arrays if accuracy.flushes() else ():
        keep &= ~((np.abs(array) < accuracy.SMALLEST) & (array != 0))
    return keep


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "checked"])
@pytest.mark.parametrize("entry", accuracy.entries(), ids=lambda entry: entry.name)
def test_function_is_as_exact_as_promised(entry: accuracy.Entry, trusted: bool):
    report = accuracy.sweep(entry, count=1 << 14, trusted=trusted)
    assert report.fine, accuracy.line(report)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("entry", accuracy.elementary(), ids=lambda entry: entry.name)
def test_function_keeps_its_exactness_in_a_fused_kernel(entry: accuracy.Entry, context: str):
    draw = np.random.default_rng(2)
    a = (draw.standard_normal(4096) * draw.choice([0.5, 4, 20], 4096)).astype(np.float32)
    b = draw.standard_normal(4096).astype(np.float32)
    got = run(f"{entry.name}_f32({context})", a, b)
    value = CONTEXTS[context](a, b)
    with np.errstate(all="ignore"):
        exact = entry.reference(value.astype(np.float64))
        error, wrong = accuracy.errors(entry, got, exact)
        keep = (np.abs(exact) >= accuracy.SMALLEST) | (exact == 0)
    # an exact zero in the middle (1 - a, a - a) may come with either sign
    assert not np.any(wrong & keep & (exact != 0))
    assert np.max(error[keep], initial=0) <= entry.limit


@pytest.mark.parametrize("entry", accuracy.elementary(), ids=lambda entry: entry.name)
def test_op_is_as_exact_as_its_function(entry: accuracy.Entry, webgpu: str):
    op = getattr(wgtorch, entry.name, None)
    if op is None:
        pytest.skip(f"no op {entry.name}")
    x = accuracy.patterns(4096)
    got = op(wgtorch.from_numpy(x).to(webgpu)).cpu().numpy()
    assert same(got, run(f"{entry.name}_f32(a)", x)).all()


def test_comparisons_see_nan_zeros_and_subnormals():
    names = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
             "gt": np.greater, "ge": np.greater_equal}  # fmt: skip
    for name, reference in names.items():
        for form in (f"u32({name}_f32(a, b))", f"select(0u, 1u, {name}_f32(a, b))"):
            got = run(form, LEFT, RIGHT, result="uint32").astype(bool)
            assert np.array_equal(got, reference(LEFT, RIGHT)), name
        got = run(f"u32(!{name}_f32(a, b))", LEFT, RIGHT, result="uint32").astype(bool)
        assert np.array_equal(got, ~reference(LEFT, RIGHT)), f"not {name}"


def test_tests_of_one_number():
    names = {"is_nan": np.isnan, "is_inf": np.isinf, "is_finite": np.isfinite,
             "signbit": np.signbit, "is_posinf": np.isposinf, "is_neginf": np.isneginf,
             "to_bool": lambda x: x != 0}  # fmt: skip
    for name, reference in names.items():
        got = run(f"u32({name}_f32(a))", NUMBERS, result="uint32").astype(bool)
        assert np.array_equal(got, reference(NUMBERS)), name


def test_extremes_with_nan_winning_and_losing():
    names = {"maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin}
    for name, reference in names.items():
        got, want = run(f"{name}_f32(a, b)", LEFT, RIGHT), reference(LEFT, RIGHT)
        assert np.array_equal(got, want, equal_nan=True), name
        tie = (LEFT == 0) & (RIGHT == 0)
        assert np.array_equal(np.signbit(got[tie]), np.signbit(LEFT[tie])), f"{name} of zeros"


def test_relu_and_sign_and_clamp():
    kept = np.where(NUMBERS < 0, np.float32(0), NUMBERS)  # -0 and NaN stay, as in PyTorch
    assert_same(run("relu_f32(a)", NUMBERS), kept, NUMBERS)
    signs = np.nan_to_num(np.sign(NUMBERS)) + np.float32(0)
    assert_same(run("sign_f32(a)", NUMBERS), signs, NUMBERS)
    got = run("clamp_f32(a, -1.5, 2.5)", NUMBERS)
    assert np.array_equal(got, np.clip(NUMBERS, -1.5, 2.5), equal_nan=True)
    assert np.isnan(run("clamp_f32(1.0, a, 2.0)", np.array([nan]))).all()


def test_copysign_and_nextafter():
    assert_same(run("copysign_f32(a, b)", LEFT, RIGHT), np.copysign(LEFT, RIGHT), LEFT, RIGHT)
    with np.errstate(all="ignore"):
        want = np.nextafter(LEFT, RIGHT)
    assert_same(run("nextafter_f32(a, b)", LEFT, RIGHT), want, LEFT, RIGHT)


def remainders(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(C's fmod, Python's remainder)."""
    rest = np.fmod(x, y)
    other_side = (rest != 0) & ~np.isnan(rest) & (np.signbit(rest) != np.signbit(y))
    return rest, np.where(other_side, rest + y, rest)


def test_remainders_are_exact():
    draw = np.random.default_rng(3)
    bits = draw.integers(0, 2**32, (2, 5000), np.uint64).astype(np.uint32).view(np.float32)
    x = np.concatenate([LEFT, bits[0], draw.standard_normal(5000).astype(np.float32) * 1000])
    y = np.concatenate([RIGHT, bits[1], draw.standard_normal(5000).astype(np.float32)])
    with np.errstate(all="ignore"):
        truncated, floored = remainders(x, y)
    assert_same(run("fmod_f32(a, b)", x, y), truncated, x, y)
    keep = calm(x, y, truncated, floored)
    x, y, floored = x[keep], y[keep], floored[keep]
    assert_same(run("floor_mod_f32(a, b)", x, y), floored, x, y)


def test_division_to_whole_numbers():
    x = np.array(
        [7, -7, 7, -7, 6, 49, 0.0, -0.0, 1, -1, 0, 5, -5, 1000003, inf, 3, nan], np.float32
    )
    y = np.array([2, 2, -2, -2, 3, 49, 3, 3, 0, 0, 0, -inf, inf, 7, 2, nan, 1], np.float32)
    floored = [3, -4, -4, 3, 2, 1, 0.0, -0.0, inf, -inf, nan, -1, -1, 142857, nan, nan, nan]
    truncated = [3, -3, -3, 3, 2, 1, 0.0, -0.0, inf, -inf, nan, -0.0, -0.0, 142857, inf, nan, nan]
    assert_same(run("floor_div_f32(a, b)", x, y), np.array(floored, np.float32), x, y)
    assert_same(run("trunc_div_f32(a, b)", x, y), np.array(truncated, np.float32), x, y)


def test_whole_quotients_are_whole():
    y, quotient = (g.ravel().astype(np.float32) for g in np.mgrid[1:200, 1:200])
    assert np.array_equal(run("div_f32(a, b)", y * quotient, y), quotient)
    assert np.array_equal(run("trunc_div_f32(a, b)", y * quotient, y), quotient)


@pytest.mark.parametrize("wide", [False, True], ids=["int32", "int64"])
def test_floats_become_integers_as_on_a_cpu(wide: bool):
    values = np.array([0.9, -0.9, 1.5, -1.5, 2147483520, -2147483648, 1e10, -1e10, 9.2e18, -9.3e18,
                       nan, inf, -inf, 1e-40, -0.0, 16777217, 8388607.5], np.float32)  # fmt: skip
    limit = 2.0**63 if wide else 2.0**31
    fits = np.abs(np.nan_to_num(values.astype(np.float64), nan=1e300)) < limit
    want = np.where(fits, np.trunc(np.where(fits, values, 0)), -limit).astype(np.int64)
    call = "i64_from_f32(a)" if wide else "to_i32_f32(a)"
    assert np.array_equal(run(call, values, result="int64" if wide else "int32"), want)


def test_every_name_is_declared_once_and_compiles(traits):
    lacking = {"i64": traits.int64, "u64": traits.int64, "f64": traits.f64}
    lacking |= {"cells": False, "RunningSum": False}  # about what only kernels have
    words = {name: set(re.findall(r"\w+", text)) for name, text in library.items().items()}
    left_out = {word for word, there in lacking.items() if not there}
    while more := {name for name in words if words[name] & left_out} - left_out:
        left_out |= more
    text = "\n".join(text for name, text in library.items().items() if name not in left_out)
    gpu().module[True](label="all of shaders/lib", code=text)
