"""What doors remember of a call must never answer for another."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.storage import Storage, Value


def numbered(*shape):
    return torch.arange(int(np.prod(shape))).reshape(*shape).float()


def test_a_tensor_given_twice_is_not_two_places_of_one():
    a, b = numbered(3, 3), numbered(3, 3) + 1
    twice = a.mm(a)
    assert torch.equal(a.mm(b), torch.tensor(a.numpy() @ b.numpy()))
    assert torch.equal(a.mm(a), twice)


def test_inputs_by_name_and_in_another_order():
    a, b = numbered(2, 3), numbered(3, 2)
    want = a.mm(b)
    assert torch.equal(torch.mm(mat2=b, input=a), want)
    assert torch.equal(torch.mm(input=a, mat2=b), want)
    with pytest.raises(RuntimeError):
        torch.mm(mat2=a, input=a)
    index = torch.tensor([[1, 0]])
    for _ in range(2):
        assert b.gather(0, index).tolist() == [[2.0, 1.0]]
        assert b.gather(index=index, dim=0).tolist() == [[2.0, 1.0]]
        assert b.gather(1, index).tolist() == [[1.0, 0.0]]


def test_lists_of_tensors_are_counted():
    a, b = numbered(2), numbered(2) + 5
    for _ in range(2):
        assert torch.cat([a, b]).tolist() == [0, 1, 5, 6]
        assert torch.cat((b, a)).tolist() == [5, 6, 0, 1]
        assert torch.cat([a, b, a]).tolist() == [0, 1, 5, 6, 0, 1]


def test_a_list_of_tensors_may_change_once_it_was_joined():
    for _ in range(2):  # the second call is remembered
        a, b = numbered(2).requires_grad_(), numbered(2).requires_grad_()
        given = [a, b]
        out = a._cat(given, 0)
        given.reverse()
        (out * numbered(4)).sum().backward()
        assert a.grad.tolist() == [0, 1] and b.grad.tolist() == [2, 3]


def test_three_operands_alike_or_not():
    x, half = numbered(4), numbered(4) / 2
    ahead = half.clone().requires_grad_()
    for _ in range(2):
        assert x.addcmul(x, half, value=2).tolist() == [0, 2, 6, 12]
        assert x.addcmul(x, half[:1], value=2).tolist() == [0, 1, 2, 3]
        assert x.where(x > 1, half).tolist() == [0, 0.5, 2, 3]
        assert x.where(x > 1, 7).tolist() == [7, 7, 2, 3]
        ahead.grad = None
        torch.lerp(x, x + 1, ahead).sum().backward()
        assert ahead.grad.tolist() == [1, 1, 1, 1]


def test_sizes_in_one_piece_or_apart():
    x = numbered(24)
    for _ in range(2):
        assert x.reshape(2, 3, 4).shape == x.reshape((2, 3, 4)).shape == (2, 3, 4)
        assert x.reshape([4, 6]).shape == x.view(4, -1).shape == (4, 6)
        assert numbered(2, 3).tile(2, 3).shape == (4, 9)
        assert numbered(2, 3).tile((2,)).shape == (2, 6)


def test_what_follows_from_the_data_of_a_tensor_is_not_remembered():
    x, place = numbered(4, 5), torch.tensor(1)
    assert x.select(0, place).tolist() == x[1].tolist()
    place.fill_(3)
    assert x.select(0, place).tolist() == x[3].tolist()
    for dim, left in ((1, 4), (0, 5)):
        place.fill_(dim)
        assert x.sum(place).shape == x.sum(dim=place).shape == (left,)
        assert x.cumsum(place)[-1, -1] == (85 if dim == 1 else 46)


def test_a_view_that_must_copy_copies_each_time():
    x = numbered(2, 3).t()
    first = x.reshape(6)
    x.zero_()
    assert first.tolist() == [0, 3, 1, 4, 2, 5]
    assert x.reshape(6).tolist() == [0] * 6


def test_a_remembered_call_still_refuses_what_is_wrong():
    x = numbered(2, 3)
    x.softmax(1)
    with pytest.raises(IndexError):
        x.softmax(2)
    with pytest.raises(TypeError):
        torch.mm(x, np.zeros((3, 2)))
    with pytest.raises(RuntimeError):
        x.mm(numbered(2, 3))
    with pytest.raises(TypeError):
        x.permute()


@pytest.mark.parametrize(
    "call",
    [
        lambda x, one: x.transpose(0, one),
        lambda x, one: x.select(0, one),
        lambda x, one: x.unsqueeze(one),
        lambda x, one: x.sum(one),
        lambda x, one: x.cumsum(one),
    ],
)
def test_numbers_that_are_equal_are_not_the_same_argument(call):
    x = numbered(3, 4)
    call(x, 1)
    with pytest.raises(TypeError, match="must be (an )?int, not float"):
        call(x, 1.0)


def test_zeros_of_either_sign_are_told_apart():
    x = numbered(2)
    for value in (0.0, -0.0, 0.0):
        padded = torch.nn.functional.pad(x, (1, 1), value=value)
        assert np.signbit(padded.numpy()[0]) == np.signbit(value)


def slots_of(thing):
    names = [n for kind in type(thing).__mro__ for n in getattr(kind, "__slots__", ())]
    return {n: id(getattr(thing, n)) for n in names if not n.startswith("__")}


def test_what_ops_return_is_what_the_classes_make(device):
    out = torch.ones(3, device=device) + 1
    value = out.storage.value
    twin = torch.Tensor(Storage(value), out.layout)
    alike = Value(value.device, value.dtype, value.numel, value.buffer, value.promise)
    alike.load = value.load
    assert slots_of(out.storage) == slots_of(twin.storage)
    assert slots_of(value) == slots_of(alike)
    twin.storage = out.storage
    assert slots_of(out) == slots_of(twin)


@pytest.mark.parametrize("call, has", [
    (torch.softmax, "(input, dim: 'int', dtype: 'object' = None, *, out=None)"),
    (torch.Tensor.sum, "(input, dim: 'object' = None, keepdim: 'bool' = False, *, dtype"),
    (torch.where, "(condition, input=None, other=None, *, out=None)"),
    (torch.mm, "(input, mat2, *, out=None)"),
    (torch.nn.functional.linear, "(input, weight, bias=None"),
], ids=lambda value: getattr(value, "__name__", ""))  # fmt: skip
def test_help_shows_what_an_op_takes(call, has):
    assert str(inspect.signature(call)).startswith(has)
