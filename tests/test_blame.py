"""What is no tensor is named where it stands, whatever tripped over it."""

from __future__ import annotations

import io
import pickle

import pytest

import wgtorch as torch

F = torch.nn.functional

NO_TENSORS = {  # call: what is said of it
    "x.gather(0, None)": "gather(): argument 'index' (position 2) must be Tensor, not NoneType",
    "torch.cdist(x, None)": "cdist(): argument 'x2' (position 2) must be Tensor, not NoneType",
    "torch.dot(x[0], 2)": "dot(): argument 'tensor' (position 1) must be Tensor, not int",
    "x.kron(other='a')": "kron(): argument 'other' must be Tensor, not str",
    "x.masked_fill(None, 0)": "argument 'mask' (position 2) must be Tensor, not NoneType",
    "torch.bernoulli(2.0)": "argument 'input' (position 1) must be Tensor, not float",
    "torch.linalg.det(2)": "(position 1) must be Tensor, not int",
    "torch.block_diag(x, 'a')": "expected Tensor as element 1 in argument 0, but got str",
    "torch.std_mean(torch.ones(2).numpy())": "'input' (position 1) must be Tensor, not ndarray",
    "torch.rand_like(5)": "rand_like(): argument 'input' (position 1) must be Tensor, not int",
    "x.view_as(5)": "view_as(): argument 'other' (position 1) must be Tensor, not int",
    "F.conv2d(x[None, None], None)": "argument 'weight' (position 2) must be Tensor, not NoneType",
}


@pytest.mark.parametrize("call", NO_TENSORS)
def test_what_is_no_tensor(device, call):
    names = {"x": torch.ones(2, 3, device=device), "torch": torch, "F": F}
    with pytest.raises(TypeError) as caught:
        eval(call, names)
    assert NO_TENSORS[call] in str(caught.value)


def test_errors_of_formulas_stay_what_they_are():

    with pytest.raises(AttributeError, match="nonsense"):
        torch.vmap(lambda x: x.nonsense)(torch.ones(2))


def test_functions_that_are_no_ops(device):
    x = torch.ones(1, 2, 4, device=device)
    for call, said in (
        (lambda: F.lp_pool1d(None, 2, 2), r"lp_pool1d\(\): argument 'input' \(position 1\)"),
        (lambda: F.cross_entropy(x, "a"), r"argument 'target' \(position 2\) must be Tensor"),
        (lambda: F.interpolate(input=2, size=3), "argument 'input' must be Tensor, not int"),
    ):
        with pytest.raises(TypeError, match=said):
            call()
    assert pickle.loads(pickle.dumps(F.lp_pool1d)) is F.lp_pool1d


def test_several_results_want_a_tuple_to_be_written_to(device):
    x, out = torch.ones(2, 2, device=device), torch.zeros(2, 2, device=device)
    with pytest.raises(TypeError, match="'out' must be tuple of Tensors, not Tensor"):
        torch.frexp(x, out=out)
    with pytest.raises(TypeError, match="expected tuple of 2 elements but got 1"):
        torch.frexp(x, out=(out,))
    assert out.tolist() == [[0, 0], [0, 0]]


def test_dtypes_and_patterns_that_are_none():
    for call in (lambda: torch.tril_indices(2, 2, dtype=3), lambda: torch.rand(2, dtype=3.5),
                 lambda: torch.logspace(0, 1, 3, dtype="a"), lambda: torch.hann_window(3, dtype=5),
                 lambda: torch.einops.rearrange(torch.ones(2), 3),
                 lambda: torch.ones(2, 2).tril(range(3))):  # fmt: skip
        with pytest.raises(TypeError, match="must be"):
            call()


def test_what_a_call_may_stumble_over_is_refused_first(device):
    x = torch.ones(2, 2, device=device)
    for call, kind, said in (
        (lambda: torch.relu_(5), TypeError, r"relu\(\): argument 'input' \(position 1\)"),
        (lambda: x.softmax(0, dtype=torch.int32), NotImplementedError, "not implemented for 'Int'"),
        (lambda: torch.lu_unpack(x, x[0]), RuntimeError, "LU_pivots is expected to be"),
        (lambda: torch.einops.reduce(x, "a b -> a", None), TypeError, "the reduction must be"),
        (lambda: torch.einops.reduce(x, "a b -> a", lambda *_: 5), TypeError, "returned int"),
        (lambda: torch.save(x, io.StringIO()), TypeError, "open in text mode; open it with 'wb'"),
    ):
        with pytest.raises(kind, match=said):
            call()
