"""Writes that the cpu makes where the elements lie: whoever holds the old ones keeps them."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch

SIZE = 100


def address(x) -> int:
    return x.storage.value.buffer.ctypes.data


WRITES = {
    "add_": (lambda x, y: x.add_(y), lambda x, y: x + y),
    "mul_": (lambda x, y: x.mul_(0.5), lambda x, y: x * np.float32(0.5)),
    "sub_": (lambda x, y: x.sub_(3), lambda x, y: x - 3),
    "div_": (lambda x, y: x.div_(y), lambda x, y: x / y),
    "zero_": (lambda x, y: x.zero_(), lambda x, y: x * 0),
    "fill_": (lambda x, y: x.fill_(2), lambda x, y: x * 0 + 2),
}


@pytest.mark.parametrize("size", [4, 1 << 15])
@pytest.mark.parametrize("name", WRITES)
def test_in_its_own_memory(name, size):
    ours, theirs = WRITES[name]
    a, b = (np.arange(1, size + 1, dtype=np.float32) % k for k in (101, 7))
    x, y = torch.tensor(a), torch.tensor(b + 1)
    seen, before, version = x[2:4], address(x), x._version
    assert ours(x, y) is x
    assert address(x) == before and x._version == version + 1
    np.testing.assert_array_equal(x.numpy(), theirs(a, b + 1))
    np.testing.assert_array_equal(seen.numpy(), theirs(a, b + 1)[2:4])


@pytest.mark.parametrize("write", [lambda x: x.mul_(3), lambda x: x.zero_()])
def test_what_is_saved_keeps_its_values(write):
    w = torch.full((SIZE,), 2.0, requires_grad=True)
    x = w * 1
    product = x * x
    with torch.no_grad():
        write(x)
    product.sum().backward()
    assert w.grad[:2].tolist() == [4, 4]


def test_recorded_writes_are_recorded():
    w = torch.ones(SIZE, requires_grad=True)
    x = w * 2
    x.mul_(3.0)
    x.sum().backward()
    assert w.grad[0] == 6
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        w.mul_(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        w[2:5] = 1


def test_operands_that_are_the_target_or_of_another_kind():
    x = torch.arange(SIZE)
    x += x
    assert x[:3].tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.mul_(0.5)
    y = torch.ones(SIZE)
    y += torch.ones(1) * 2
    y *= torch.ones(SIZE, dtype=torch.float64)
    assert y.dtype is torch.float32 and y[5] == 3


def test_numbers_at_an_index():
    x = torch.zeros(3, 4)
    row, memory = x[1], x.numpy()
    x[1] = 2
    x[:1] = True
    x[-1] = -1.5
    assert row.tolist() == [2] * 4 and memory[:, 0].tolist() == [1, 2, -1.5]
    x.t()[0] = 7  # a view that is not contiguous
    assert x[:, 0].tolist() == [7, 7, 7]
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x[3] = 1
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(2, dtype=torch.uint8)[:1] = 300
    half = torch.zeros(3, dtype=torch.bfloat16)
    half[1:] = 0.1
    assert half[2] == torch.tensor(0.1).bfloat16()


@pytest.mark.parametrize("name", ["hypot_", "atan2_", "gcd_", "logical_and_"])
def test_a_number_is_refused_where_the_op_refuses_one(name):
    x = torch.tensor([4, 6]) if name == "gcd_" else torch.ones(2, dtype=torch.float32)
    x = x.bool() if name == "logical_and_" else x
    with pytest.raises(TypeError, match=rf"{name[:-1]}\(\): argument 'other' \(position 2\)"):
        getattr(x, name)(2)


def test_division_by_zero_in_place_is_refused():
    for write in (lambda x: x.floor_divide_(0), lambda x: x.fmod_(0)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            write(torch.tensor([4, 5]))
