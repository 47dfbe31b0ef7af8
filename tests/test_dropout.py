"""Dropout and its kin: what is kept, what is saved for the gradient, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as wt
from wgtorch.autograd.graph import saved_tensors_hooks
from wgtorch.nn import functional as F


def test_dropout_scales_what_it_keeps(device):
    wt.manual_seed(21)
    x = wt.rand(50, 40, device=device) + 1
    y = wt.dropout(x, 0.25, True)
    kept = y != 0
    assert abs(float(kept.float().mean()) - 0.75) < 0.04
    np.testing.assert_allclose(y.cpu().numpy(), (x * kept / 0.75).cpu().numpy(), rtol=1e-6, atol=0)


def test_dropout_drops_the_gradient_where_it_dropped(device):
    wt.manual_seed(22)
    packed = []
    x = wt.ones(20, 20, device=device, requires_grad=True)
    with saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = wt.dropout(x, 0.5, True)
    assert [t.dtype for t in packed] == [wt.bool]
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    assert set(y.flatten().tolist()) == {0.0, 2.0}


def test_dropout_without_effect():
    x = wt.ones(3, requires_grad=True)
    assert wt.dropout(x, 0.5, False) is x
    assert wt.dropout(x, 0.0, True) is x
    assert wt.dropout(x, 1.0, True).tolist() == [0, 0, 0]
    assert F.dropout(x, 0.5, training=False) is x
    y = x * 2
    assert F.dropout(y, 0.0, True, inplace=True).tolist() == [2, 2, 2]
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_dropout_in_place(device):
    wt.manual_seed(23)
    x = wt.ones(6, 6, device=device, requires_grad=True)
    y = x * 3
    z = F.dropout(y, 0.5, True, inplace=True)
    assert z is y
    y.sum().backward()
    assert x.grad.tolist() == y.detach().tolist()
    assert set(y.flatten().tolist()) == {0.0, 6.0}


def test_channels_are_dropped_as_a_whole(device):
    wt.manual_seed(24)
    cases = {
        F.dropout1d: (3,),
        F.dropout2d: (3, 2),
        F.dropout3d: (3, 2, 2),
        wt.feature_dropout: (3,),
    }
    for drop, rest in cases.items():
        shape = (4, 8, *rest)
        y = drop(wt.ones(shape, device=device), 0.5, True).cpu().numpy().reshape(32, -1)
        assert (y == y[:, :1]).all()
        assert set(y[:, 0]) == {0.0, 2.0}


def test_alpha_dropout_keeps_mean_and_variance():
    wt.manual_seed(25)
    y = wt.alpha_dropout(wt.randn(20000), 0.3, True).numpy()
    assert abs(y.mean()) < 0.03 and abs(y.var() - 1) < 0.05
    x = wt.zeros(500)
    assert len(set(F.alpha_dropout(x, 0.3, True).tolist())) == 2
    rows = wt.feature_alpha_dropout(wt.zeros(2, 5, 7), 0.3, True).reshape(10, 7)
    assert (rows == rows[:, :1]).all()


def test_rrelu(device):
    wt.manual_seed(26)
    x = wt.linspace(-2, 2, 101, device=device, requires_grad=True)
    y = wt.rrelu(x, 0.1, 0.3, True)
    y.sum().backward()
    slopes = x.grad.cpu().numpy()
    assert (slopes[51:] == 1).all()
    assert (slopes[:50] >= 0.1).all() and (slopes[:50] < 0.3).all() and slopes[:50].std() > 0.03
    np.testing.assert_allclose(
        y.detach().cpu().numpy(), (slopes * x.detach().cpu().numpy()), rtol=1e-6
    )
    assert wt.rrelu(-wt.ones(1), 0.1, 0.3).tolist() == pytest.approx([-0.2])


def test_checkpoint_repeats_dropout(device):
    wt.manual_seed(27)
    x = wt.ones(30, device=device, requires_grad=True)
    results = []

    def run(t):
        results.append(F.dropout(t, 0.5, True))
        return results[-1] * t

    wt.utils.checkpoint.checkpoint(run, x, use_reentrant=False).sum().backward()
    assert len(results) == 2
    assert results[0].tolist() == results[1].tolist()
    assert x.grad.tolist() == (2 * results[0]).tolist()


# What it costs


def test_dropout_is_one_kernel_and_none_are_made_again(webgpu):
    backend = wt.device(webgpu).backend or wt.zeros(1, device=webgpu).device.backend
    x = wt.rand(64, device=webgpu, requires_grad=True)
    x.detach().sum().item()
    assert wt.dropout(x * 2, 0.5, True).explain().count("= random_block") == 1
    for _ in range(2):
        wt.dropout(x, 0.5, True).sum().item()
    kernels, ready = len(backend.kernels), len(backend.folder.ready)
    for _ in range(5):
        wt.dropout(x, 0.5, True).sum().item()
    assert (len(backend.kernels), len(backend.folder.ready)) == (kernels, ready)
