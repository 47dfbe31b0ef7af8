"""Arguments that are ints: what is none is refused by name; numpy's and tensors' are taken."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch

F = torch.nn.functional

NOT_INTS = {  # call: what PyTorch says
    "x.topk(5.0)": "topk(): argument 'k' (position 1) must be int, not float",
    "x.topk('5')": "topk(): argument 'k' (position 1) must be int, not str",
    "x.topk(True)": "topk(): argument 'k' (position 1) must be int, not bool",
    "x.topk(None)": "topk(): argument 'k' (position 1) must be int, not NoneType",
    "x.topk(torch.tensor(2.0))": "topk(): argument 'k' (position 1) must be int, not Tensor",
    "x.topk(2, 1.5)": "topk(): argument 'dim' (position 2) must be int, not float",
    "x.topk(2, dim=0.0)": "topk(): argument 'dim' must be int, not float",
    "x.roll(1.5, 0)": "roll(): argument 'shifts' (position 1) must be tuple of ints, not float",
    "x.roll(1, True)": "roll(): argument 'dims' (position 2) must be tuple of ints, not bool",
    "x.roll((1, 1.5), (0, 1))": "roll(): argument 'shifts' (position 1) must be tuple of ints, but"
    " found element of type float at pos 1",
    "x.diagonal(1.0)": "diagonal(): argument 'offset' (position 1) must be int, not float",
    "x.diag(1.0)": "diag(): argument 'diagonal' (position 1) must be int, not float",
    "x.tril(1.0)": "tril(): argument 'diagonal' (position 1) must be int, not float",
    "x.select(0, 1.0)": "select(): argument 'index' (position 2) must be int, not float",
    "x.unfold(0, 2.0, 1)": "unfold(): argument 'size' (position 2) must be int, not float",
    "x.kthvalue(2.0)": "kthvalue(): argument 'k' (position 1) must be int, not float",
    "x.chunk(2.0)": "chunk(): argument 'chunks' (position 1) must be int, not float",
    "x.chunk('a')": "chunk(): argument 'chunks' (position 1) must be int, not str",
    "x.cumsum(1.0)": "cumsum(): argument 'dim' (position 1) must be int, not float",
    "torch.stack([x, x], 1.0)": "stack(): argument 'dim' (position 2) must be int, not float",
    "x.reshape(8.0, 4)": "reshape(): argument 'shape' (position 1) must be tuple of ints, but"
    " found element of type float at pos 0",
    "F.max_pool2d(image, 2.0)": "max_pool2d(): argument 'kernel_size' (position 2) must be tuple of"
    " ints, not float",
    "F.max_pool2d(image, (2, 2.0))": "max_pool2d(): argument 'kernel_size' (position 2) must be"
    " tuple of ints, but found element of type float at pos 1",
    "F.avg_pool2d(image, 2, 2.0)": "avg_pool2d(): argument 'stride' (position 3) must be tuple of"
    " ints, not float",
    "F.interpolate(image, 6.0)": "'size' (position 2) must be tuple of ints, not float",
    "F.unfold(image, 2.0)": "'kernel_size' (position 2) must be tuple of ints, not float",
    "F.fold(x, 2, 2, padding=(0, 1.0))": "'padding' (position 4) must be tuple of ints, but"
    " found element of type float at pos 1",
    "F.adaptive_avg_pool2d(image, 2.0)": "argument 'output_size' (position 2)"
    " must be tuple of ints, but found element of type float at pos 0",
    "F.adaptive_max_pool3d(image, (2, 2.0, None))": "found element of type float at pos 1",
    "F.max_pool3d(image, 2, 1.0)": "max_pool3d(): argument 'stride' (position 3) must be tuple of",
    "F.avg_pool3d(image, 2, divisor_override=1.5)": "'divisor_override' (position 7) must be int,",
    "x.squeeze(1.0)": "argument 'dim' (position 1) must be tuple of ints, not float",
    "x.movedim(0.0, 1)": "argument 'source' (position 1) must be tuple of ints, not float",
    "x.repeat_interleave(2.0)": "must be", "x.repeat((2, None))": "argument 'repeats'",
    "x.argmax((0, 1))": "argmax(): argument 'dim' (position 1) must be int, not tuple",
    "x.prod(dim=1.0)": "prod(): argument 'dim' (position 1) must be int, not float",
    "x.split((1, 3.0))": "found element of type float at pos 1",
    "x.round(decimals=1.5)": "round(): argument 'decimals' must be int, not float",
    "torch.randint(2.5, (2,))": "randint(): argument 'high' must be int, not float",
    "torch.fft.fftfreq(5.0)": "fft_fftfreq(): argument 'n' (position 1) must be int, not float",
    "F.pixel_shuffle(image, 2.0)": "pixel_shuffle(): argument 'upscale_factor' (position 2) must be"
    " int, not float",
    "F.group_norm(image, 2.0)": "group_norm(): argument 'num_groups' (position 2) must be int, not"
    " float",
    "F.dropout(x, p='0.5')": "dropout(): argument 'p' must be float, not str",
    "x.clamp('a')": "clamp(): argument 'min' must be Tensor or Number, not str",
    "x.clamp(0, [1])": "clamp(): argument 'max' must be Tensor or Number, not list",
}  # fmt: skip


@pytest.mark.parametrize("call", NOT_INTS)
def test_what_is_no_int_is_refused_by_its_name(call, device):
    x, image = torch.ones(4, 8, device=device), torch.ones(1, 4, 4, 4, device=device)
    F.max_pool2d(image, (2, 2))  # it is remembered, and 2.0 is 2 to a dict
    names = {"x": x, "image": image, "torch": torch, "F": F}
    with pytest.raises(TypeError) as caught:
        eval(call, names)
    assert NOT_INTS[call] in str(caught.value)
    assert (x + 1).tolist() == [[2.0] * 8] * 4


@pytest.mark.parametrize("two", [np.int64(2), torch.tensor(2), torch.tensor(2, dtype=torch.uint8)])
def test_an_int_may_be_numpys_or_a_tensor(two, device):
    x = torch.tensor([[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]], device=device)
    image = torch.ones(1, 4, 4, 4, device=device)
    assert x.topk(two).values.tolist() == [[3, 2], [6, 5]]
    assert x.topk(k=two).values.tolist() == [[3, 2], [6, 5]]
    assert x.roll(two, 1).tolist() == [[2, 3, 1], [5, 4, 6]]
    assert x.diagonal(two).tolist() == [3]
    assert F.pixel_shuffle(image, two).shape == (1, 1, 8, 8)
    assert F.max_pool2d(image, two).shape == (1, 4, 2, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.view(7, 1.0, 3),
        lambda x: x.reshape(7, 3.0),
        lambda x: x.repeat(2.0, 1),
        lambda x: x.as_strided((2.0, 5), (1, 1)),
        lambda x: x.unflatten(1, (3.0, 1)),
        lambda x: torch.broadcast_to(x, (2.0, 7, 3)),
        lambda x: torch.randperm(11.0, device=x.device),
        lambda x: torch.multinomial(x, 2.0),
    ],
)
def test_sizes_are_ints_and_others_spoil_nothing(device, call):
    """Equal numbers are found as one key: a shape of floats must not be kept for ints."""
    x = torch.ones(7, 3, device=device)
    with pytest.raises(TypeError, match="must be (int|tuple of ints)"):
        call(x)
    for shape in ((7, 1, 3), (7, 3), (14, 3), (2, 5), (7, 3, 1), (2, 7, 3), (11,)):
        made = torch.rand(shape, device=device)
        assert made.shape == shape and {type(n) for n in made.shape} == {int}
        assert "tensor" in repr(made)


@pytest.mark.parametrize("k", [2**31, 2**32, -(2**31) - 1, 2**40 + 1, -(2**63)])
def test_diagonals_beyond_32_bits_lie_outside_of_the_matrix(device, k):
    x = torch.ones(2, 3, device=device)
    assert x.tril(k).sum() == (6 if k > 0 else 0)
    assert x.triu(k).sum() == (0 if k > 0 else 6)
    assert torch.tril_indices(2, 3, k, device=device).shape == (2, 6 if k > 0 else 0)
    assert x.diagonal_scatter(x[0, :0], k).sum() == 6


def test_what_no_int64_holds_and_strides_that_nobody_takes(device):
    x = torch.ones(2, 3, device=device)
    for call in (lambda: x.tril(2**63), lambda: x.sum(2**64), lambda: x.cumsum(-(2**63) - 1)):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            call()
    assert x[:: 2**62].tolist() == x.unfold(0, 1, 2**62)[..., 0].tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_a_dim_may_be_numpys(kind, device):
    x, one = torch.arange(4, device=device).reshape(2, 2), kind(1)
    assert x.flip(one).tolist() == [[1, 0], [3, 2]]
    assert x.gather(one, x * 0).tolist() == [[0, 0], [2, 2]]
    assert [part.tolist() for part in x.tensor_split(kind(2), one)] == [[[0], [2]], [[1], [3]]]
    assert [part.shape for part in x.hsplit(kind(2))] == [(2, 1), (2, 1)]
    for call in (x.sum, x.flip, x.tensor_split, x.hsplit):
        with pytest.raises(TypeError, match="not bool"):
            call(True)


class Three:
    """An int by its own word."""

    def __index__(self):
        return 3


SIZES = [Three(), torch.tensor(3), torch.tensor([3]), np.array(3), np.int64(3)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: type(size).__name__)
def test_what_stands_for_a_size(size):
    assert torch.zeros(size, 2).shape == torch.randn((size, 2)).shape == (3, 2)
    assert torch.ones(1).expand(2, size).shape == (2, 3)
    assert torch.ones(6).reshape(size, 2).shape == torch.ones(6).view((size, -1)).shape == (3, 2)
    assert torch.ones(1).new_zeros((size, 1)).resize_(1, size).shape == (1, 3)


def test_only_the_first_size_must_not_be_a_bool():
    """So it is in PyTorch."""
    assert torch.zeros(3, True).shape == torch.ones(1).expand(3, True).shape == (3, 1)
    for wrong in (True, torch.tensor(3.0), torch.tensor([2, 3]), np.array([3.0]), Three):
        with pytest.raises(TypeError, match="zeros.*must be tuple of ints"):
            torch.zeros(wrong)


@pytest.mark.parametrize("name", ["new_zeros", "resize_", "sum_to_size"])
def test_sizes_by_name(name):
    method = getattr(torch.ones(1, 3), name)
    assert method(size=(1, 3)).shape == (1, 3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sizes'"):
        method(1, 3, sizes=3)


@pytest.mark.parametrize("name", ["new_zeros", "repeat", "tile", "resize_"])
def test_sizes_that_are_missing(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) missing 1 required positional arguments"):
        getattr(torch.ones(3), name)()
