"""What dtype comes out, and what is refused, of every pair of operand kinds: as torch 2.13 says."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")

import wgtorch  # noqa: E402

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
         "float64"]  # fmt: skip
NUMBERS = [True, 3, 2.5]
PAIRS = ["add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow", "eq", "lt",
         "maximum", "atan2", "copysign", "xlogy", "hypot", "logical_and", "bitwise_and",
         "bitwise_left_shift", "clamp_min", "fmax", "logaddexp", "gcd", "float_power"]  # fmt: skip
KINDS = [*NAMES, *(f"0-d {n}" for n in NAMES), *NUMBERS]


def operand(library, kind):
    """A tensor, a 0-d tensor or a number, never zero."""
    if not isinstance(kind, str):
        return kind
    dtype = getattr(library, kind.removeprefix("0-d "))
    return library.ones(() if kind.startswith("0-d") else (2,), dtype=dtype)


def answer(library, name, left, right):
    """The name of the result's dtype, or the type of the exception."""
    try:
        result = getattr(library, name)(operand(library, left), operand(library, right))
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    return str(result.dtype).removeprefix("torch.")


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    """Where torch takes only tensors, wgtorch takes numbers too."""
    wrong = []
    for left, right in itertools.product(KINDS, KINDS):
        if not isinstance(left, str) and not isinstance(right, str):
            continue
        want = answer(torch, name, left, right)
        got = answer(wgtorch, name, left, right)
        if got != want and want != "TypeError":
            wrong.append(f"{name}({left}, {right}): {got} instead of {want}")
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("first", NAMES)
def test_promote_types(first):
    for second in NAMES:
        want = torch.promote_types(getattr(torch, first), getattr(torch, second))
        got = wgtorch.promote_types(getattr(wgtorch, first), getattr(wgtorch, second))
        assert str(got) == str(want), (first, second)


@pytest.mark.parametrize("left", KINDS, ids=str)
def test_result_type(left):
    for right in KINDS:
        want = torch.result_type(operand(torch, left), operand(torch, right))
        got = wgtorch.result_type(operand(wgtorch, left), operand(wgtorch, right))
        assert str(got) == str(want), (left, right)


@pytest.mark.parametrize("name", NAMES)
def test_where_and_clamp(name):
    """Three operands promote together."""
    for kind in KINDS:
        for op in (three_way, bounded):
            assert op(wgtorch, name, kind) == op(torch, name, kind), (op.__name__, kind)


def three_way(library, name, kind):
    condition = library.ones(2, dtype=library.bool)
    values = operand(library, name), operand(library, kind)
    return str(library.where(condition, *values).dtype)


def bounded(library, name, kind):
    try:
        return str(library.clamp(operand(library, name), max=operand(library, kind)).dtype)
    except RuntimeError as error:
        return type(error).__name__


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", [*NAMES, *NUMBERS], ids=str)
def test_in_place_casts(target, source):
    """`a += b` keeps the dtype of a, or says that the result does not fit."""
    assert written(wgtorch, target, source) == written(torch, target, source)


def written(library, target, source):
    x = library.ones(2, dtype=getattr(library, target))
    try:
        x += operand(library, source)
    except RuntimeError as error:
        return str(error)
    return str(x.dtype)


def test_default_dtype_decides():
    for library in (torch, wgtorch):
        before = library.get_default_dtype()
        try:
            library.set_default_dtype(library.float64)
            x = library.tensor([1, 2])
            assert str((x / 2).dtype) == str((x * 0.5).dtype) == "torch.float64"
        finally:
            library.set_default_dtype(before)
