"""Convolutions of no images, of no channels and of images without elements."""

from __future__ import annotations

import pytest

import wgtorch as torch
import wgtorch.nn.functional as F

DIMS = pytest.mark.parametrize("dims", [1, 2, 3])


@DIMS
def test_no_images_are_convolved_whatever_their_size(device, dims):
    x = torch.ones(0, 2, *[0] * dims, device=device, requires_grad=True)
    w = torch.ones(3, 2, *[2] * dims, device=device, requires_grad=True)
    y = getattr(F, f"conv{dims}d")(x, w, torch.ones(3, device=device), padding=1)
    assert y.shape == (0, 3, *[1] * dims)
    y.sum().backward()
    assert x.grad.shape == x.shape and not w.grad.any()


@DIMS
def test_no_images_are_spread_to_no_size(device, dims):
    x = torch.ones(0, 3, *[3] * dims, device=device, requires_grad=True)
    w = torch.ones(3, 2, *[2] * dims, device=device, requires_grad=True)
    y = getattr(F, f"conv_transpose{dims}d")(x, w, torch.ones(2, device=device), padding=2)
    assert y.shape == (0, 2, *[0] * dims)
    y.sum().backward()
    assert x.grad.shape == x.shape and not w.grad.any()


@DIMS
def test_no_channels_leave_the_bias(device, dims):
    x = torch.ones(2, 0, *[3] * dims, device=device)
    w = torch.ones(2, 0, *[2] * dims, device=device)
    y = getattr(F, f"conv{dims}d")(x, w, torch.tensor([1.0, 2.0], device=device))
    assert y[0].flatten(1).tolist() == [[1.0] * 2**dims, [2.0] * 2**dims]


@DIMS
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_what_cannot_be_convolved(device, dims, name):
    convolution = getattr(F, f"{name}{dims}d")
    x = torch.ones(2, 2, *[3] * dims, device=device)
    w = torch.ones(2, 2, *[2] * dims, device=device)
    for call, text in (
        (lambda: convolution(x[..., :0], w, padding=1), "Only zero batch or zero channel inputs"),
        (lambda: convolution(x, w[..., :0]), "kernel size should be greater than zero, but got ["),
        (lambda: convolution(x, w, padding=-1), "negative padding is not supported"),
        (lambda: convolution(x[:, :1], w), f"input{[2, 1, *x.shape[2:]]} to have 2 channels, but"),
    ):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert text in str(caught.value)
