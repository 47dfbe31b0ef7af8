"""Tensors print as PyTorch prints them, to the letter."""

import numpy as np
import pytest
import torch as pytorch

import wgtorch as torch

RNG = np.random.default_rng(0)
NORMAL = RNG.standard_normal
CASES = {
    "0-d": np.float32(3.14159),
    "0-d int": np.int64(7),
    "0-d bool": np.bool_(True),
    "vector": NORMAL(5).astype("f4"),
    "long vector": NORMAL(40).astype("f4"),
    "whole numbers": np.float32([1, 2, 300]),
    "whole with nan": np.float32([1, np.nan, np.inf, -np.inf]),
    "small": np.float32([1e-5, 2e-5, 1]),
    "large": np.float32([1e9, 1.5]),
    "wide range": np.float32([1e-3, 1e4, 3.3]),
    "large whole": np.float32([1e9, 3e9]),
    "zeros": np.zeros((2, 3), "f4"),
    "matrix": NORMAL((3, 4)).astype("f4"),
    "three dims": NORMAL((2, 3, 4)).astype("f4"),
    "four dims": NORMAL((2, 1, 2, 3)).astype("f4"),
    "ints": RNG.integers(-100, 100, (3, 4)),
    "int32": RNG.integers(-100, 100, 4).astype("i4"),
    "uint8": RNG.integers(0, 200, (2, 3)).astype("u1"),
    "bools": NORMAL((2, 3)) > 0,
    "float64": NORMAL((2, 3)),
    "float16": NORMAL((2, 3)).astype("f2"),
    "empty": np.zeros((0,), "f4"),
    "empty 2-d": np.zeros((0, 3), "f4"),
    "empty int": np.zeros((2, 0), "i8"),
    "summarized": NORMAL((40, 50)).astype("f4"),
    "summarized vector": np.arange(2000),
    "summarized 3-d": NORMAL((30, 20, 10)).astype("f4"),
    "summarized tall": NORMAL((2000, 2)).astype("f4"),
    "wide rows": NORMAL((2, 30)).astype("f4"),
    "negative zero": np.float32([-0.0, 0.5]),
    "all nan": np.float32([np.nan, np.nan]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("grad", [False, True], ids=["plain", "grad"])
def test_prints_alike(name, grad):
    array = np.asarray(CASES[name])
    ours, theirs = torch.tensor(array), pytorch.tensor(array)
    if grad:
        if array.dtype.kind != "f":
            pytest.skip("only floats have gradients")
        ours.requires_grad_(True), theirs.requires_grad_(True)
    assert repr(ours) == repr(theirs)
    if grad:
        assert repr(ours.exp()) == repr(theirs.exp())


@pytest.mark.parametrize("options", [
    {"precision": 2}, {"sci_mode": True}, {"sci_mode": False}, {"linewidth": 40},
    {"threshold": 5}, {"edgeitems": 1, "threshold": 5}, {"profile": "full"}, {"profile": "short"},
])  # fmt: skip
def test_print_options(options):
    array = NORMAL((6, 9)).astype("f4")
    try:
        torch.set_printoptions(**options), pytorch.set_printoptions(**options)
        assert repr(torch.tensor(array)) == repr(pytorch.tensor(array))
    finally:
        torch.set_printoptions(profile="default"), pytorch.set_printoptions(profile="default")


@pytest.mark.parametrize("form", [
    "Upsample(scale_factor=2)", "Upsample(5)", "Upsample(scale_factor=(2, 3))",
    "UpsamplingNearest2d(scale_factor=2)", "MultiheadAttention(4, 2)",
])  # fmt: skip
def test_modules(form):
    assert repr(eval(form, vars(torch.nn))) == repr(eval(form, vars(pytorch.nn)))


def test_bfloat16_and_parts():
    array = NORMAL((4, 6)).astype("f4")
    ours, theirs = torch.tensor(array), pytorch.tensor(array)
    assert repr(ours.bfloat16()) == repr(theirs.bfloat16())
    assert repr(ours.t()) == repr(theirs.t())
    assert str(ours.shape) == str(theirs.shape)
    assert f"{ours.sum():.3f}" == f"{theirs.sum():.3f}"
