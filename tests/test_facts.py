"""What a tensor says of itself, and what the library says to the line that called it."""

from __future__ import annotations

import pickle
import warnings

import pytest

import wgtorch as torch
from wgtorch.autograd.recipe import RECIPES
from wgtorch.config import is_own
from wgtorch.nn import functional as F
from wgtorch.op import REGISTRY


def test_memory_formats_are_told_apart(device):
    x = torch.ones(2, 4, 5, 3, device=device)
    last = x.permute(0, 3, 1, 2)
    assert x.is_contiguous(memory_format=torch.contiguous_format)
    assert not x.is_contiguous(memory_format=torch.channels_last)
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert not last.is_contiguous(memory_format=torch.preserve_format)
    assert not last.is_contiguous(memory_format=torch.channels_last_3d)
    with pytest.raises(TypeError, match="must be torch.memory_format, not NoneType"):
        x.is_contiguous(memory_format=None)


def test_the_layout_of_a_tensor_is_strided():
    x = torch.ones(2, 3)
    assert x.layout == torch.strided and x.T.layout == torch.strided
    assert repr(x.layout) == repr(torch.strided) == "torch.strided"
    assert x.layout != torch.sparse_coo and torch.strided != torch.sparse_coo
    assert pickle.loads(pickle.dumps(torch.strided)) is torch.strided
    assert torch.ones(2, layout=x.layout).tolist() == [1, 1]
    assert torch.empty_like(x, layout=x.layout).shape == x.new_zeros((2, 3), layout=x.layout).shape
    with pytest.raises(ValueError, match="strided tensors only, got: torch.sparse_coo"):
        torch.zeros_like(x, layout=torch.sparse_coo)


def test_squeeze_takes_dimensions_one_by_one(device):
    x = torch.ones(1, 3, 1, device=device)
    assert x.squeeze(0, 2).shape == x.squeeze(-1, 0).shape == (3,)
    assert x.squeeze(0).shape == x.squeeze(0, 1).shape == (3, 1)
    with pytest.raises(TypeError, match="found element of type float at pos 1"):
        x.squeeze(0, 1.5)
    assert x.squeeze_(0, 2).shape == (3,)


X = torch.ones(2, 3)
WARNINGS = {
    "required to pass the indexing": lambda: torch.meshgrid(X[0]),
    "dtype torch.uint8 is now deprecated": lambda: X[torch.ones(2, dtype=torch.uint8)],
    "non-tuple sequence": lambda: X[[slice(None)]],
    "Implicit dimension": lambda: F.softmax(X),
    "different to the input size": lambda: F.mse_loss(X, X[0]),
    "reduce args will be deprecated": lambda: torch.nn.L1Loss(reduce=False),
    "A window was not provided": lambda: torch.stft(X.reshape(-1), 4, return_complex=True),
    "Received a 1-D input": lambda: F.dropout2d(X[0]),
    "Default grid_sample": lambda: F.grid_sample(X[None, None], torch.zeros(1, 2, 2, 2)),
}


@pytest.mark.parametrize("text", WARNINGS)
def test_a_warning_names_the_line_that_called(text):
    call = WARNINGS[text]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    (warning,) = [w for w in seen if text in str(w.message)]
    assert (warning.filename, warning.lineno) == (__file__, call.__code__.co_firstlineno)


def test_code_written_by_the_library_is_its_own():
    """Or who looks for the line that called would stop there."""
    recipe = RECIPES[REGISTRY["mul"]][1]
    for function in (recipe.record, recipe.answer):
        assert is_own(function.__code__)
        assert function.__globals__["__name__"].partition(".")[0] == "wgtorch"
