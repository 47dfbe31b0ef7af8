"""What is no tensor is named where it stands, whatever tripped over it."""

from __future__ import annotations

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
