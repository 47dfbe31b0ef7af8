"""Pruned, fused, unset and stateless modules."""

import pytest

import wgtorch as wt
from wgtorch import nn
from wgtorch.nn.utils import prune


def layer(device, rows):
    made = nn.Linear(len(rows[0]), len(rows), bias=False).to(device)
    with wt.no_grad():
        made.weight.copy_(wt.tensor(rows))
    return made


def test_what_is_pruned_stays_zero_in_training(device):
    module = prune.l1_unstructured(layer(device, [[1.0, -5.0, 3.0]]), "weight", amount=1)
    assert [name for name, _ in module.named_parameters()] == ["weight_orig"]
    optimizer = wt.optim.SGD(module.parameters(), lr=1.0)
    for _ in range(2):
        module(wt.ones(1, 3, device=device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    module(wt.ones(1, 3, device=device))
    assert module.weight.tolist() == [[0, -7, 1]] and module.weight_orig.tolist() == [[1, -7, 1]]
    prune.ln_structured(module, "weight", amount=1, n=1, dim=1)
    assert module.weight_mask.tolist() == [[0, 1, 0]]
    assert prune.is_pruned(nn.Sequential(module))
    prune.remove(module, "weight")
    assert list(module.state_dict()) == ["weight"] and module.weight.tolist() == [[0, -7, 0]]
    assert not prune.is_pruned(module) and not module._forward_pre_hooks


@pytest.mark.parametrize("kind", [prune.RandomUnstructured, prune.RandomStructured])
def test_a_part_at_random(kind, device):
    module = layer(device, [[1.0] * 8] * 4)
    kind.apply(module, "weight", amount=0.25)
    assert module.weight.sum().item() == 24
    if kind is prune.RandomStructured:
        assert sorted(module.weight.sum(0).tolist()) == [0] * 2 + [4] * 6


def test_refused_methods_change_nothing():
    module = layer("cpu", [[1.0, 2.0]])
    with pytest.raises(ValueError, match="amount=3 should be smaller"):
        prune.l1_unstructured(module, "weight", 3)
    assert list(module.state_dict()) == ["weight"] and not module._forward_pre_hooks


def test_all_layers_as_one(device):
    pairs = [(layer(device, [[1.0, 4.0]]), "weight"), (layer(device, [[2.0, 3.0]]), "weight")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.5)
    assert [m.weight.tolist() for m, _ in pairs] == [[[0, 4]], [[0, 3]]]


def test_a_batch_norm_goes_into_the_layer_before_it(device):
    pair = nn.Sequential(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3)).to(device)
    x = wt.rand(4, 2, 5, 5, device=device)
    pair(x)
    pair.eval()
    fused = nn.utils.fuse_conv_bn_eval(*pair)
    wt.testing.assert_close(fused(x), pair(x), rtol=1e-4, atol=1e-5)
    assert fused.weight.is_leaf and fused.weight is not pair[0].weight


def test_skip_init_draws_nothing(device):
    wt.manual_seed(0)
    made = nn.utils.skip_init(nn.Linear, 3, 2, device=device)
    assert made.weight.device == wt.device(device) and made.weight.shape == (2, 3)
    after = wt.rand(2).tolist()
    wt.manual_seed(0)
    assert wt.rand(2).tolist() == after


def test_a_stateless_call_gives_buffers_back():
    norm = nn.BatchNorm1d(1)
    given = {"running_mean": wt.tensor([8.0]), "num_batches_tracked": wt.tensor(3)}
    with pytest.warns(FutureWarning, match="deprecated as of PyTorch 2.0"):
        nn.utils.stateless.functional_call(norm, given, wt.tensor([[1.0], [3.0]]))
    assert norm.running_mean.item() == 0
    assert given["num_batches_tracked"].item() == 4
    assert given["running_mean"].item() == pytest.approx(7.4)
