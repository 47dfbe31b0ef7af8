"""What torch.save writes is what load reads: every kind of thing, and a training that goes on."""

from __future__ import annotations

import io
import pickle
import warnings

import numpy as np
import pytest
import torch as pytorch

import wgtorch

BASE = pytorch.arange(6.0)
THINGS = {
    "view": BASE[1:], "transposed": BASE.reshape(2, 3).t(), "expanded": BASE[:1].expand(3),
    "number": pytorch.tensor(3.5), "empty": pytorch.ones(0, 3), "stepped": BASE[::2],
    **{str(d): BASE.to(d) for d in (pytorch.float64, pytorch.float16, pytorch.bfloat16,
       pytorch.int64, pytorch.int32, pytorch.int16, pytorch.int8, pytorch.uint8, pytorch.bool,
       pytorch.complex64, pytorch.complex128)},
    "conj": (BASE * 1j).conj(), "leaf": BASE.clone().requires_grad_(),
    "parameter": pytorch.nn.Parameter(BASE), "buffer": pytorch.nn.Buffer(BASE),
    "untyped": BASE.to(pytorch.int32).view(pytorch.float32),
    "size": pytorch.Size([1, 2]), "device": pytorch.device("cpu"), "dtype": pytorch.float16,
    "nested": {"a": [1, (2.5, None)], 3: {"x": True}, "set": {1, 2}, "complex": 1j,
               "bytes": b"a\xff", "array": bytearray(b"\x00\xff"), "slice": slice(1, None, 2),
               "text": "ä\n"},
}  # fmt: skip


def saved(thing, new: bool) -> io.BytesIO:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytorch.save(thing, file, _use_new_zipfile_serialization=new)
    file.seek(0)
    return file


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("name", THINGS)
def test_things(name, new):
    want = THINGS[name]
    got = wgtorch.load(saved(want, new))
    if isinstance(want, pytorch.Tensor):
        assert str(got.dtype) == str(want.dtype) and got.requires_grad is want.requires_grad
        assert got.stride() == want.stride() and got.shape == tuple(want.shape)
        assert np.array_equal(got.tolist(), want.tolist())
    elif name == "nested":
        assert got == want
    else:
        assert repr(got) == repr(want).replace("device(type='cpu')", repr(wgtorch.device("cpu")))


def test_what_pytorch_refuses_without_running_code_too():
    for thing in (pytorch.nn.Linear(1, 1), np.float64(1)):
        for library, kind in ((pytorch, "torch"), (wgtorch, "wgtorch")):
            with pytest.raises(Exception, match="Unsupported global: GLOBAL") as caught:
                library.load(saved(thing, True))
            assert isinstance(caught.value, pickle.UnpicklingError), kind


def step(library, model, optimizer):
    x = library.arange(12.0).reshape(4, 3) / 12
    optimizer.zero_grad()
    model(x).pow(2).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_a_training_goes_on(kind):
    options = {"lr": 0.01} | ({"momentum": 0.9} if kind == "SGD" else {})

    def made(library):
        nn = library.nn
        model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
        return model, getattr(library.optim, kind)(model.parameters(), **options)

    theirs, ours = made(pytorch), made(wgtorch)
    step(pytorch, *theirs)
    found = wgtorch.load(saved([part.state_dict() for part in theirs], True))
    for part, state in zip(ours, found, strict=True):
        part.load_state_dict(state)
    for _ in range(2):
        step(pytorch, *theirs)
        step(wgtorch, *ours)
    for name, want in theirs[0].state_dict().items():
        got = ours[0].state_dict()[name]
        np.testing.assert_allclose(got.numpy(), want.numpy(), 1e-4, 1e-5, err_msg=name)
