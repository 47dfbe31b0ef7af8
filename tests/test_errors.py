"""Exceptions: each condition raises its own class, which is also the type that PyTorch raises."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import errors

CASES = """
IndexOutOfBoundsError: v[9]
IndexOutOfBoundsError: x.select(0,5)
ShapeError: torch.bmm(zeros(2,2,2),zeros(3,2,2))
ShapeError: x@x
ShapeError: x@zeros(2)
ShapeError: v.dot(zeros(2))
ShapeError: zeros(2,2,2)@zeros(2,3,2)
BroadcastError: x+zeros(4)
DimOutOfRangeError: x.chunk(2,5)
DimOutOfRangeError: x.sum(7)
ShapeError: x.expand(3,3)
ShapeError: x.expand(3)
DimOutOfRangeError: x.flip(4)
DimOutOfRangeError: x.gather(4,zeros(1,1,dtype=torch.int64))
DimOutOfRangeError: x.index_select(4,zeros(1,dtype=torch.int64))
ShapeError: x.item()
LinalgError: v.trace()
ShapeError: v.mm(v)
ShapeError: x.narrow(1,1,5)
IndexOutOfBoundsError: x.narrow(1,7,1)
ShapeError: x.permute(0)
DimOutOfRangeError: x.scatter(4,zeros(1,1,dtype=torch.int64),0)
DimOutOfRangeError: x.softmax(4)
DimOutOfRangeError: x.split(1,5)
DimOutOfRangeError: x.transpose(0,5)
ShapeError: zeros(2,2,2).t()
DimOutOfRangeError: x.unbind(5)
ShapeError: x.reshape(7)
ShapeError: x.t().view(6)
ShapeError: torch.cat([x,zeros(3,2)])
DeviceError: torch.device('webgpuu')
DeviceError: torch.device('mps')
IndexOutOfBoundsError: x.index_select(0,torch.tensor([7], device=x.device))
IndexOutOfBoundsError: x.take(torch.tensor([99], device=x.device))
ShapeError: torch.stack([x,v])
DimOutOfRangeError: x.squeeze(5)
DimOutOfRangeError: x.unsqueeze(5)
IndexOutOfBoundsError: v[0,0]
"""


@pytest.mark.parametrize("line", CASES.strip().splitlines())
def test_condition(line, device):
    name, _, call = line.partition(": ")
    x, v = torch.zeros(2, 3, device=device), torch.zeros(3, device=device)

    def zeros(*shape, dtype=None):
        return torch.zeros(*shape, dtype=dtype, device=device)

    with pytest.raises(getattr(errors, name)):
        result = eval(call, {"torch": torch, "x": x, "v": v, "zeros": zeros})
        result.tolist()  # an index is only seen by the GPU


def test_devices_apart(webgpu):
    with pytest.raises(errors.DeviceError, match="at least two devices, cpu and webgpu:0"):
        torch.zeros(2) + torch.zeros(2, device=webgpu)


def test_families():
    """What catches a family, and what PyTorch's own types catch."""
    assert issubclass(errors.BroadcastError, errors.ShapeError)
    assert issubclass(errors.ShapeError, RuntimeError) and issubclass(
        errors.LinalgError, RuntimeError
    )
    assert issubclass(errors.DimOutOfRangeError, IndexError)
    assert issubclass(errors.OutOfMemoryError, RuntimeError)
    registry = [e for e in vars(errors).values() if isinstance(e, type) and
                issubclass(e, errors.RegistryError)]  # fmt: skip
    assert len(registry) == 15


def test_suggestions():
    assert errors.levenshtein_distance("kitten", "sitting") == 3
    assert errors.levenshtein_distance("", "abc") == errors.levenshtein_distance("abc", "") == 3
    assert errors.find_similar_patterns("sofmax", ["softmax", "softmin", "add"])[0] == "softmax"
    assert errors.suggestion("sofmax", ["softmax"]) == " Did you mean 'softmax'?"
    assert errors.suggestion("completely", ["add", "mul"]) == ""
    assert errors.format_shape((2, 3)) == "[2, 3]"
    told = errors.build_error_message("add: no", "a is (2,)", remedy="reshape it")
    assert told == "add: no\n  a is (2,)\n  reshape it"


@pytest.mark.parametrize("loss", ["binary_cross_entropy", "cross_entropy", "nll_loss", "kl_div"])
def test_what_is_refused_for_its_reduction_complains_of_nothing_later(loss, device):
    inputs = torch.full((2, 2), 7.0, device=device)
    targets = inputs if loss in ("binary_cross_entropy", "kl_div") else inputs[0].long()
    with pytest.raises(ValueError, match="all is not a valid value for reduction"):
        getattr(torch.nn.functional, loss)(inputs, targets, reduction="all")
    assert (inputs[0, 0] + 1).item() == 8


def test_losses_of_classes_say_what_lies_elsewhere(webgpu):
    scores, classes = torch.ones(2, 3, device=webgpu), torch.tensor([0, 2], device=webgpu)
    for targets, weight, what in (
        (classes.cpu(), None, "target"),
        (classes, torch.ones(3), "weight"),
    ):
        with pytest.raises(errors.DeviceError, match=f"but got {what} is on cpu, different from"):
            torch.nn.functional.cross_entropy(scores, targets, weight=weight)


def test_ints_by_name_are_ints_whatever_ran_before(device):
    x = torch.ones(2, 3, device=device)
    assert x.sum(dim=1).tolist() == [3, 3] and x.sum((1,)).tolist() == [3, 3]
    assert x.unsqueeze(dim=1).shape == (2, 1, 3) and x.transpose(dim0=0, dim1=1).shape == (3, 2)
    for wrong in (True, 1.0):
        for call in (
            lambda wrong: x.sum(dim=wrong),
            lambda wrong: x.sum((wrong,)),
            lambda wrong: x.amax(dim=(0, wrong)),
            lambda wrong: x.unsqueeze(dim=wrong),
            lambda wrong: x.transpose(dim0=0, dim1=wrong),
        ):
            with pytest.raises(TypeError, match="must be (an )?int"):
                call(wrong)
    with pytest.raises(TypeError, match="'size' must be tuple of ints, but .* float at pos 1"):
        x.expand(size=(2, 3.0))


def test_an_int_in_a_tensor_is_an_int(device):
    x, one = torch.ones(3, 3, device=device), torch.tensor(1)
    for _ in range(2):
        assert x.tril(one).sum().item() == 8 and torch.triu(x, diagonal=-one).sum().item() == 8
    assert x.cummax(one)[0].device == x.device
    with pytest.raises(TypeError, match="'diagonal' .* must be int, not Tensor"):
        x.tril(torch.tensor(1.0))


def test_products_know_their_matrices_by_name(device):
    x = torch.ones(2, 2, device=device)
    assert torch.addmm(x, mat1=x, mat2=x).tolist() == [[3, 3], [3, 3]]
    assert x.addmm(x, mat2=x, beta=0).tolist() == [[2, 2], [2, 2]]
    assert torch.baddbmm(x[None], batch1=x[None], batch2=x[None]).tolist() == [[[3, 3], [3, 3]]]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'mat2'"):
        x.addmm(x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'mat3'"):
        x.addmm(x, x, mat3=x)


def test_what_is_added_in_place_may_know_the_tensor():
    class Known:
        def __radd__(self, other):
            return "known"

    x = torch.ones(2)
    x += Known()
    assert x == "known"
    x = torch.ones(2)
    with pytest.raises(
        TypeError, match=r"unsupported operand type\(s\) for \+=: 'Tensor' and 'str'"
    ):
        x += "a"
    with pytest.raises(TypeError, match=r"torch\.from_numpy"):
        x += np.ones(2)


def test_where_of_one_value_names_the_other(device):
    x = torch.ones(2, device=device)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'other'"):
        torch.where(x > 0, x)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'input'"):
        torch.where(x > 0, other=x)


def test_more_dimensions_than_numpy_has():
    with pytest.raises(RuntimeError, match="70 dimensions: a tensor has at most 64"):
        torch.ones(1)[None] * torch.ones([1] * 70)


LARGE = 1 << 55  # elements that no address space has room for
ALLOCATING = ["torch.zeros(LARGE)", "torch.arange(LARGE)", "torch.hann_window(LARGE)",
              "x.expand(LARGE) + 1", "x.expand(LARGE).cumsum(0)", "x.repeat(LARGE)",
              "torch.rand(LARGE)", "x.new_zeros(LARGE // 2)"]  # fmt: skip


@pytest.mark.parametrize("expression", ALLOCATING)
def test_no_memory_on_the_cpu(expression):
    with pytest.raises(errors.OutOfMemoryError, match=r"can't allocate memory: you tried to all"):
        eval(expression, {"torch": torch, "x": torch.ones(1), "LARGE": LARGE})


def test_no_memory_for_what_says_how_to_resize(device):
    image = torch.ones(1, 1, 4, device=device)
    with pytest.raises(errors.OutOfMemoryError, match="you tried to allocate 288230376151711744 "):
        torch.nn.functional.interpolate(image, size=LARGE)


def test_fewer_than_no_elements_at_the_edges_are_none():
    torch.set_printoptions(edgeitems=-1, threshold=1)
    try:
        assert repr(torch.arange(10)) == "tensor([ ...])"
    finally:
        torch.set_printoptions(profile="default")
