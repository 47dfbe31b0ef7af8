"""Gradients of what distributions draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import wgtorch as torch
from wgtorch import distributions as dist

MANY = 4000


@pytest.mark.parametrize("a", [0.02, 0.4, 1.0, 5.0, 9.9, 40.0, 3000.0])
def test_a_gamma_number_moves_as_its_quantile_does(a):
    """Against differences of SciPy's inverse, in float64."""
    chances = np.array([0.02, 0.3, 0.6, 0.97])
    x = special.gammaincinv(a, chances)
    step = a * 1e-5
    moved = [np.log(special.gammaincinv(a + s, chances)) for s in (step, -step)]
    slopes = torch.tensor(np.full(4, a))._log_gamma_slope(torch.tensor(np.log(x)))
    np.testing.assert_allclose(slopes.numpy(), (moved[0] - moved[1]) / (2 * step), rtol=1e-5)


def test_gradients_of_samples(device):
    loc, scale = (torch.tensor(v, device=device, requires_grad=True) for v in (1.0, 2.0))
    x = dist.Normal(loc, scale).rsample((50,))
    by_loc, by_scale = torch.autograd.grad(x.sum(), (loc, scale))
    assert by_loc.item() == 50
    assert by_scale.item() == pytest.approx(((x - 1) / 2).sum().item(), rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("parameters", [(0.3, 0.9, 2.0), (4.0, 1.5, 0.02)])
def test_gradients_of_means_by_samples(device, parameters):
    """The mean of the gradients of samples is the gradient of the mean: within five deviations."""
    rows = np.tile(np.float32(parameters), (MANY, 1))
    for kind in (dist.Dirichlet, lambda a: dist.Gamma(a, 2.0)):
        many = torch.tensor(rows, device=device, requires_grad=True)
        one = torch.tensor(parameters, device=device, requires_grad=True)
        weights = torch.tensor([1.0, -2.0, 3.0], device=device)
        (each,) = torch.autograd.grad((kind(many).rsample() * weights).sum(), many)
        (wanted,) = torch.autograd.grad((kind(one).mean * weights).sum(), one)
        each = each.cpu().numpy()
        bound = 5 * each.std(0) / MANY**0.5
        assert (abs(each.mean(0) - wanted.cpu().numpy()) < bound).all()


def test_batches_of_functions_that_draw(device):
    """Under vmap: other numbers for each sample, or the same, and their gradients."""
    a = torch.tensor([[0.5, 2.0], [3.0, 4.0], [3.0, 4.0]], device=device)
    for draw in (
        lambda a: dist.Gamma(a, 1.0).rsample(),
        lambda a: dist.Poisson(a).sample(),
        lambda a: dist.Binomial(50 * a, 0.5).sample(),
    ):
        each = torch.func.vmap(draw, randomness="different")(a)
        same = torch.func.vmap(draw, randomness="same")(a)
        assert each.shape == (3, 2) and (each[1] != each[2]).any() and (same[1] == same[2]).all()

    def slope(a):
        return torch.func.grad(lambda a: dist.Gamma(a, 1.0).rsample().sum())(a)

    assert (torch.func.vmap(slope, randomness="different")(a) > 0).all()


def test_straight_through(device):
    logits = torch.tensor([0.5, 1.0, -1.0], device=device, requires_grad=True)
    d = dist.OneHotCategoricalStraightThrough(logits=logits)
    x = d.rsample()
    assert sorted(x.round(decimals=5).tolist()) == [0, 0, 1]
    weights = torch.tensor([1.0, 2.0, 4.0], device=device)
    got, wanted = (
        torch.autograd.grad((y * weights).sum(), logits)[0].tolist()
        for y in (x, logits.softmax(-1))
    )
    assert got == pytest.approx(wanted, rel=1e-5)
