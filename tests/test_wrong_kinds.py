"""What is no tensor, and dims where there are none: complaints name the call and the value."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch

F, init, rnn = torch.nn.functional, torch.nn.init, torch.nn.utils.rnn

NO_TENSOR = {  # call -> what its complaint begins with
    "init.xavier_uniform_(wrong)": "xavier_uniform_(): argument 'tensor' (position 1)",
    "init.constant_(wrong, 1)": "constant_(): argument 'tensor' (position 1)",
    "init.orthogonal_(wrong)": "orthogonal_(): argument 'tensor' (position 1)",
    "init.eye_(tensor=wrong)": "eye_(): argument 'tensor'",
    "rnn.pack_padded_sequence(wrong, [2])": "pack_padded_sequence(): argument 'input' (position 1)",
    "rnn.pad_packed_sequence(wrong)": "pad_packed_sequence(): argument 'sequence' (position 1)",
    "rnn.unpad_sequence(x, wrong)": "unpad_sequence(): argument 'lengths' (position 2)",
    "torch.svd_lowrank(wrong)": "svd_lowrank(): argument 'A' (position 1)",
    "torch.pca_lowrank(A=wrong)": "pca_lowrank(): argument 'A'",
    "x.resize_as_(wrong)": "resize_as_(): argument 'the_template' (position 1)",
    "x.is_set_to(wrong)": "is_set_to(): argument 'tensor' (position 1)",
    "x.is_same_size(wrong)": "is_same_size(): argument 'other' (position 1)",
}


@pytest.mark.parametrize("wrong", ["2", None, torch.ones(2)], ids=["str", "None", "Tensor"])
@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_factors_are_numbers(name, wrong):
    x = torch.ones(2, 2)
    said = f"argument '{name}' must be Number, not {type(wrong).__name__}"
    with pytest.raises(TypeError, match=f"^addmm.*: {said}$"):
        torch.addmm(x, x, x, **{name: wrong})
    assert torch.addmm(x, x, x, **{name: torch.tensor(3)})[0, 0] == 1 + 2 + (4, 2)[name == "beta"]
    if name == "alpha":
        with pytest.raises(TypeError, match=f"^sub.*: {said}$"):
            torch.sub(x, x, alpha=wrong)


@pytest.mark.parametrize("wrong", [None, 3, [1.0, 2.0]], ids=["None", "int", "list"])
@pytest.mark.parametrize("call", NO_TENSOR)
def test_what_is_no_tensor_is_named_with_its_place(call, wrong):
    names = {"init": init, "rnn": rnn, "torch": torch, "x": torch.ones(2, 3), "wrong": wrong}
    with pytest.raises(TypeError) as caught:
        eval(call, names)
    assert str(caught.value) == f"{NO_TENSOR[call]} must be Tensor, not {type(wrong).__name__}"


def test_what_is_no_sequence_of_tensors():
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="pad_sequence: Expected iterable .*: <class 'int'>"):
        rnn.pad_sequence(3)
    with pytest.raises(TypeError, match="expected Tensor as element 1 in argument ., but got None"):
        rnn.pad_sequence([x, None])
    with pytest.raises(RuntimeError, match="padding_side to be one of left or right, but got top"):
        rnn.pad_sequence([x, x], padding_side="top")
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        rnn.pack_sequence([x[0], x[1]])
    with pytest.raises(RuntimeError, match="should be a 1D CPU int64 tensor, but got 0D cpu Long"):
        rnn.pack_padded_sequence(torch.ones(3, 2), 3)
    with pytest.raises(IndexError, match=r"in range of \[-1, 0\], but got 1"):
        rnn.pack_padded_sequence(x, [3])
    lengths = torch.tensor([-1, 2])
    assert [len(s) for s in rnn.unpad_sequence(torch.ones(3, 2), lengths)] == [0, 2]


def test_values_that_cannot_be_begun_with():
    x = torch.zeros(50)
    with pytest.raises(RuntimeError, match="but found from=2 > to=1"):
        init.trunc_normal_(x, 0, 1, 2, 1)
    assert 0.3 < init.trunc_normal_(x, 0, -1).std() < 2 and x.abs().max() <= 2
    with pytest.raises(ValueError, match=r"svd_lowrank\(\): A must be matrices, but .* is \[50\]"):
        torch.svd_lowrank(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.size(0), lambda x: x.stride(-1), lambda x: x.unflatten(0, (1, 1)),
        lambda x: x.take_along_dim(torch.tensor(0), 0), lambda x: x.unbind(),
        lambda x: torch.fft.fft(x), lambda x: torch.unique(x, dim=0), lambda x: torch.trapezoid(x),
    ],
)  # fmt: skip
def test_a_dim_of_none(call):
    with pytest.raises(IndexError, match="Dimension specified as -?[01] but tensor has no dim"):
        call(torch.tensor(1.0))


def test_a_size_that_is_none():
    for call in (torch.ones(2).resize_, torch.ones(2).sum_to_size, torch.zeros):
        with pytest.raises(TypeError, match="must be tuple of ints"):
            call(None)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.tensor(1.0).flatten(1)


REFUSED = {  # call -> what it says
    "torch.polar(x.int(), x.int())": "Expected both inputs to be Half, Float or Double tensors but"
    " got Int and Int",
    "torch.kthvalue(x[:, :0], 1)": "Expected reduction dim 1 to have non-zero size",
    "F.hardtanh(z)": "clamp is not supported for complex types",
    "F.threshold(z, 1, 0)": "\"threshold_cpu\" not implemented for 'ComplexFloat'",
    "F.mse_loss(z, z)": "\"mse_cpu\" not implemented for 'ComplexFloat'",
    "F.smooth_l1_loss(x.int(), x.int())": "\"smooth_l1_cpu\" not implemented for 'Int'",
    "F.huber_loss(x.bool(), x.bool())": "\"huber_cpu\" not implemented for 'Bool'",
    "torch.mm(z[0, 0], z)": "self must be a matrix",
    "torch.mm(z, z)": "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
    "torch.bmm(z, z.mT)": "batch1 must be a 3D tensor",
    "torch.adjoint(x[0])": "tensor.adjoint() is only supported on matrices or batches of matrices",
    "z[0].mH": "tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor",
    "torch.block_diag()": "expected at least one tensor",
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_dtype_or_shape_that_is_none_of_its_own(call, device):
    x = torch.ones(2, 3, device=device)
    names = {"torch": torch, "F": F, "x": x, "z": x.to(torch.complex64)}
    with pytest.raises((RuntimeError, IndexError)) as caught:
        eval(call, names)
    assert REFUSED[call] in str(caught.value)


def test_a_number_is_its_own_transpose(device):
    z = torch.tensor(1 + 2j, device=device)
    assert z.mH.item() == z.adjoint().item() == z.H.item() == 1 - 2j and z.mT.item() == 1 + 2j


def test_a_new_tensor_is_of_the_dtype_of_the_one_it_is_asked_of(device):
    for dtype in (torch.float32, torch.int8, torch.bool):
        x = torch.ones(2, dtype=dtype, device=device)
        for data in ([1], 1.5, True, np.array([1, 2]), torch.tensor([1])):
            new = x.new_tensor(data)
            assert new.dtype is dtype and new.device == x.device
        assert x.new_tensor([2], dtype=torch.int64).tolist() == [2]
    with pytest.raises(RuntimeError, match="to type int8 without overflow"):
        torch.ones(2, dtype=torch.int8, device=device).new_tensor(300)


def test_losses_of_integers(device):
    ones = torch.ones(2, dtype=torch.int8, device=device)
    assert F.margin_ranking_loss(ones, ones, ones).item() == 0
    with pytest.raises(RuntimeError, match="kl_div: Integral inputs not supported"):
        F.kl_div(ones, ones, reduction="sum")
    with pytest.raises(NotImplementedError, match="\"binary_cross_entropy\" not .* for 'Char'"):
        F.binary_cross_entropy(ones, ones)
    with pytest.raises(RuntimeError, match="batch1 must be a 3D tensor"):
        torch.baddbmm(ones[None], ones[None], ones[:, None])
