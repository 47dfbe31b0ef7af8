"""What dtype comes out of operands of several: tensors, 0-d tensors and numbers, on both devices.

The whole table beside torch is in tests/oracle/test_promotion_oracle.py.
"""

from __future__ import annotations

import pytest

import wgtorch as torch

ONES = {name: getattr(torch, name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64",
                                                "float16", "bfloat16", "float32")}  # fmt: skip
PAIRS = [
    ("uint8", "int8", "int16"), ("int8", "int16", "int16"), ("int32", "int64", "int64"),
    ("bool", "uint8", "uint8"), ("int64", "float16", "float16"), ("float16", "bfloat16", "float32"),
    ("bfloat16", "float32", "float32"), ("bool", "float16", "float16"), ("bool", "bool", "bool"),
]  # fmt: skip


def one(name, device, shape=(2,)):
    return torch.ones(shape, dtype=ONES[name], device=device)


@pytest.mark.parametrize(("left", "right", "result"), PAIRS)
def test_two_tensors(left, right, result, device):
    assert (one(left, device) + one(right, device)).dtype is ONES[result]
    assert (one(right, device) * one(left, device)).dtype is ONES[result]


@pytest.mark.parametrize(
    ("tensor", "other", "result"),
    [
        ("int8", "int64", "int8"), ("float16", "float32", "float16"),
        ("int32", "float16", "float16"), ("uint8", "bool", "uint8"),
        ("bool", "uint8", "uint8"), ("int64", "float32", "float32"),
    ],
)  # fmt: skip
def test_a_tensor_without_dimensions_only_lifts_the_category(tensor, other, result, device):
    assert (one(tensor, device) + one(other, device, ())).dtype is ONES[result]
    assert (one(other, device, ()) + one(tensor, device)).dtype is ONES[result]


@pytest.mark.parametrize(
    ("tensor", "number", "result"),
    [
        ("int8", 3, "int8"), ("int8", 2.5, "float32"), ("float16", 2.5, "float16"),
        ("bool", 3, "int64"), ("bool", True, "bool"), ("uint8", True, "uint8"),
        ("bfloat16", 7, "bfloat16"), ("bool", 0.5, "float32"),
    ],
)  # fmt: skip
def test_a_number_only_lifts_the_category(tensor, number, result, device):
    assert (one(tensor, device) + number).dtype is ONES[result]
    assert (number * one(tensor, device)).dtype is ONES[result]
    assert (one(tensor, device, ()) + number).dtype is ONES[result]


def test_true_division_makes_floats(device):
    x = torch.tensor([1, 2], device=device)
    assert (x / 2).tolist() == [0.5, 1.0]
    assert (x / x).dtype is torch.float32
    assert (x // 2).dtype is torch.int64
    assert x.to(torch.int8).exp().dtype is torch.float32


def test_comparisons_make_bools(device):
    x = torch.tensor([1, 2], dtype=torch.int8, device=device)
    assert (x > 1.5).tolist() == [False, True]
    assert (x == x).dtype is torch.bool


def test_bools_are_truth_and_not_numbers(device):
    x = torch.tensor([True, False], device=device)
    assert (x + x).tolist() == [True, False]
    assert (x * x).dtype is torch.bool
    with pytest.raises(RuntimeError, match="two bool tensors is not supported"):
        x - x
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        x - 1
    with pytest.raises(RuntimeError, match="on a bool tensor is not supported"):
        torch.neg(x)


def test_numbers_wrap_to_a_small_integer_dtype(device):
    x = torch.tensor([200], dtype=torch.uint8, device=device)
    assert (x + 300).item() == 244
    assert (x > 300).item() is True  # 300 is 44 there
    assert (torch.tensor([100], dtype=torch.int8, device=device) * 2).item() == -56


def test_halves_round_once_per_op(device):
    x = torch.tensor([1.0], dtype=torch.float16, device=device)
    assert (x * 0.1).item() == 0.0999755859375
    assert (x * 1e6).item() == float("inf")
    assert (torch.tensor([256.0], dtype=torch.bfloat16, device=device) + 1).item() == 256


def test_a_number_beside_halves_is_one_of_them(device):
    """But for + - * /, where it is as wide as what halves are computed in (PyTorch's, on CUDA)."""
    x = torch.tensor([0.1, 1.0, -2.5], dtype=torch.float16, device=device)
    assert (x == 0.1).tolist() == [True, False, False]
    assert (x.bfloat16() < 1.001).tolist() == [True, False, True]
    assert (70000 // x).isnan().all() and (70000 % x).isnan().all()
    assert (-70000 % x).isnan().all() and (65505 % x[2:]).tolist() == [-1]
    assert (x % 70000).tolist() == [x[0].item(), 1, torch.inf]
    assert (x // -70000)[1:].tolist() == [-1, 0]
    assert (70000**x).tolist() == [torch.inf, torch.inf, 0]
    assert (x * 70000)[0].item() == 7000 and (x + 1e5 - 1e5)[1].item() == torch.inf
    for dtype, word in ((torch.float16, "Half"), (torch.bfloat16, "BFloat16")):
        with pytest.raises(RuntimeError, match=f"to type c10::{word} without overflow"):
            x.to(dtype) ** (65505 if word == "Half" else -1e39)
    assert (x**-torch.inf).tolist() == [torch.inf, 1, 0]


@pytest.mark.parametrize("name", ["uint8", "int8"])
def test_a_number_that_becomes_an_element_must_be_one_of_the_dtype(device, name):
    """Where there are no signs, negative ints wrap and are no error."""
    x = torch.tensor([0, 100], device=device).to(getattr(torch, name))
    known = {"uint8": (255, 128, [255, 255]), "int8": (-1, -128, [0, 100])}[name]
    assert x.clamp_min(-1).tolist() == x.clamp(min=-1).tolist() == known[2]
    assert x.clamp(-1, 5).tolist() == ([5, 5] if name == "uint8" else [0, 5])
    assert torch.where(x > 0, x, -128).tolist() == [known[1], 100]
    assert x.masked_fill(x > 0, -1).tolist() == [0, known[0]]
    assert torch.nn.functional.threshold(x, 5, -1).tolist() == [known[0], 100]
    assert torch.addcmul(x, x, x, value=-1)[0] == 0
    assert x.clamp(-1, 0.5).tolist() == [0, 0.5] and x.clamp(torch.inf).dtype is torch.float32
    for call in (
        lambda: x.clamp_max(300), lambda: x.clamp(0, 300), lambda: x.clamp(min=-256),
        lambda: torch.where(x > 0, 300, x), lambda: x.masked_fill(x > 0, torch.inf),
        lambda: x**300, lambda: x.add(x, alpha=300), lambda: torch.addcmul(x, x, x, value=300),
        lambda: x.__setitem__(0, -256.5), lambda: torch.full_like(x, 300),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=f"to type {name}_t without overflow"):
            call()


def test_a_truth_of_a_yielding_operand_is_taken_in_the_other_dtype(device):
    x = torch.tensor([0, 1], dtype=torch.uint8, device=device)
    assert x.logical_or(torch.tensor(256, device=device)).tolist() == [False, True]
    assert torch.tensor(257, device=device).logical_and(x).tolist() == [False, True]
    tiny = torch.tensor(1e-8, device=device)
    assert x.half().logical_xor(tiny).tolist() == [False, True]
    assert x.bfloat16().logical_xor(tiny).tolist() == [True, False]


def test_a_write_keeps_the_dtype_or_says_that_it_cannot(device):
    x = torch.ones(2, dtype=torch.int32, device=device)
    x += True
    assert x.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output"):
        x += 0.5
    y = torch.ones(2, dtype=torch.float16, device=device)
    y += torch.ones(2, device=device)
    assert y.dtype is torch.float16


def test_the_default_dtype_is_what_integers_become(device):
    torch.set_default_dtype(torch.float16)
    try:
        x = torch.tensor([1, 2], device=device)
        assert (x / 2).dtype is (x * 0.5).dtype is x.sqrt().dtype is torch.float16
    finally:
        torch.set_default_dtype(torch.float32)
    assert (x / 2).dtype is torch.float32


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_division_by_zero(dtype, device):
    """An error where it is known at the call; a GPU cannot raise in a kernel and answers 0."""
    x = torch.tensor([7], dtype=dtype, device=device)
    for divide in (lambda: x // 0, lambda: x % 0, lambda: x.fmod(0)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide()
    if device == "cpu":
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            x // (x - x)
    else:
        assert (x // (x - x)).item() == 0


def test_where_and_clamp_promote_all_their_values(device):
    condition = torch.tensor([True, False], device=device)
    whole = torch.tensor([1, 2], device=device)
    assert torch.where(condition, whole, 0.5).tolist() == [1.0, 0.5]
    assert whole.clamp(min=1.5).tolist() == [1.5, 2.0]
    assert whole.masked_fill(condition, 7.9).tolist() == [7, 2]
    assert torch.where(condition, 1, 2).dtype is torch.int64


@pytest.mark.parametrize("name", ["int8", "uint8", "int16"])
def test_what_yields_to_a_small_dtype_wraps_before_it_is_computed_with(device, name):
    x = torch.tensor([1, 44, 100], dtype=getattr(torch, name), device=device)
    big = torch.tensor(44 - (1 << 16), device=device)  # 44, seen by each of them
    assert (x == big).tolist() == (big == x).tolist() == [False, True, False]
    assert (x < big).tolist() == [True, False, False]
    assert x.maximum(big).tolist() == [44, 44, 100]
    assert (x // big).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int16", "int32"])
def test_integers_that_become_int64_in_a_kernel_are_compared_with_its_constants(device, name):
    x = torch.tensor([1, 0, 100, -1], device=device).clamp(0, 255).to(getattr(torch, name))
    x = x if name in ("bool", "uint8") else -x
    numbers = [int(v) for v in x.tolist()]
    assert x.long().sign().tolist() == [(n > 0) - (n < 0) for n in numbers]
    assert (3 + 0 * x.long() << x).tolist() == [3 << n if 0 <= n < 62 else 0 for n in numbers]
