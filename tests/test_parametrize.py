"""Parametrized weights: what is read, trained, saved, copied and left behind."""

import copy

import numpy as np
import pytest

import wgtorch as wt
from wgtorch import nn
from wgtorch.nn.utils import parametrizations, parametrize


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


def doubled(layer):
    return parametrize.register_parametrization(layer, "weight", Doubled())


def test_the_original_is_trained_and_saved(device):
    layer = nn.Linear(2, 1, bias=False).to(device)
    weight = layer.weight
    with wt.no_grad():
        weight.copy_(wt.tensor([[4.0, 6.0]]))
    doubled(layer)
    assert weight.tolist() == [[2, 3]] and layer.weight.tolist() == [[4, 6]]
    assert layer.parametrizations.weight.original is weight  # an optimizer made before still fits
    layer(wt.ones(1, 2, device=device)).sum().backward()
    wt.optim.SGD([weight], lr=0.5).step()
    assert layer.weight.tolist() == [[2, 4]]
    state = layer.state_dict()
    assert list(state) == ["parametrizations.weight.original"]
    other = doubled(nn.Linear(2, 1, bias=False).to(device))
    other.load_state_dict(state)
    assert other.weight.tolist() == [[2, 4]]
    other.to("cpu")
    other.weight = wt.tensor([[10.0, 12.0]])
    assert other.parametrizations.weight.original.tolist() == [[5, 6]]


def test_removing_gives_the_class_and_the_parameter_back():
    layer = doubled(nn.Linear(2, 3))
    weight, value = layer.parametrizations.weight.original, layer.weight.tolist()
    assert type(layer).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and list(layer.state_dict()) == ["bias", "weight"]
    assert layer.weight is weight and weight.tolist() == value


def test_copies_do_not_share_a_class():
    """Removing from one must not take the weight of the other."""
    layer = doubled(nn.Linear(2, 3))
    other = copy.deepcopy(layer)
    parametrize.remove_parametrizations(other, "weight")
    assert layer.weight.tolist() == other.weight.tolist()
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        copy.copy(layer)


def test_cached_ends_with_the_outermost():
    layer = doubled(nn.Linear(2, 3))
    with parametrize.cached():
        with parametrize.cached():
            first = layer.weight
        assert layer.weight is first
    assert layer.weight is not first and not parametrize.Cache.known


def test_weight_norm(device):
    layer = nn.Linear(2, 2, bias=False).to(device)
    with wt.no_grad():
        layer.weight.copy_(wt.tensor([[3.0, 4.0], [0.0, 2.0]]))
    parametrizations.weight_norm(layer)
    lengths, directions = layer.parametrizations.weight.parameters()
    assert lengths.tolist() == [[5], [2]]
    with wt.no_grad():
        lengths.fill_(10)
        directions.mul_(7)
    wt.testing.assert_close(layer.weight, wt.tensor([[6.0, 8], [0, 10]], device=device))
    assert wt.norm_except_dim(directions, 2, -1).shape == ()


@pytest.mark.parametrize("kind", [parametrizations.spectral_norm, nn.utils.spectral_norm])
def test_spectral_norm_divides_by_the_largest_singular_value(kind, device):
    layer = nn.ConvTranspose1d(3, 4, 2)
    weight = layer.weight.detach().clone()
    kind(layer.to(device), n_power_iterations=30)
    layer(wt.ones(1, 3, 5, device=device))
    largest = np.linalg.svd(weight.movedim(1, 0).flatten(1).numpy())[1][0]
    np.testing.assert_allclose(layer.weight.detach().cpu().numpy(), weight / largest, rtol=1e-3)


def test_orthogonal_stays_so_while_it_is_trained(device):
    layer = parametrizations.orthogonal(nn.Linear(3, 5).to(device))
    optimizer = wt.optim.SGD(layer.parameters(), lr=0.3)
    before = layer.weight.detach().clone()
    layer(wt.rand(4, 3, device=device)).square().sum().backward()
    optimizer.step()
    weight = layer.weight
    assert (weight - before).abs().max().item() > 0.01
    wt.testing.assert_close(weight.mT @ weight, wt.eye(3, device=device), rtol=0, atol=1e-5)


def test_unitary():
    layer = nn.Module()
    layer.weight = nn.Parameter(wt.randn(3, 3, dtype=wt.complex64))
    weight = parametrizations.orthogonal(layer).weight
    wt.testing.assert_close(weight.mH @ weight, wt.eye(3) + 0j, rtol=0, atol=1e-5)
