"""Lazy modules: parameters that learn their shape, by an input or by state."""

import copy
import pickle

import pytest

import wgtorch as wt
from wgtorch import nn


def net():
    return nn.Sequential(nn.LazyConv1d(4, 2), nn.LazyBatchNorm1d(), nn.Flatten(), nn.LazyLinear(3))


def test_a_network_becomes_a_plain_one(device):
    model = net().to(device)
    before = list(model.parameters())
    assert {repr(p) for p in before} == {"<UninitializedParameter>"}
    optimizer = wt.optim.SGD(before, lr=0.1)
    model(wt.ones(2, 5, 6, device=device)).sum().backward()
    optimizer.step()
    assert [type(m) for m in model] == [nn.Conv1d, nn.BatchNorm1d, nn.Flatten, nn.Linear]
    assert all(a is b for a, b in zip(before, model.parameters(), strict=True))
    assert {type(p) for p in before} == {nn.Parameter}
    assert model[3].in_features == 20 and model[3].weight.shape == (3, 20)
    assert model[1].running_var.device == wt.device(device)
    assert 0 < model[3].weight.abs().max().item() <= 20**-0.5 + 0.1
    assert not model[0]._forward_pre_hooks and not model[0]._load_state_dict_pre_hooks


def test_state_both_ways():
    known, lazy, other = net(), net(), net()
    known(wt.ones(2, 5, 6))
    lazy.load_state_dict(known.state_dict())
    assert lazy[3].weight.tolist() == known[3].weight.tolist()
    known.eval(), lazy.eval()
    x = wt.rand(2, 5, 6)
    assert lazy(x).tolist() == known(x).tolist() and lazy[3].in_features == 20
    other.load_state_dict(net().state_dict())
    assert other[0].has_uninitialized_params()
    with pytest.raises(RuntimeError, match="trying to load an uninitialized parameter"):
        known.load_state_dict(other.state_dict())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_learn_by_themselves(copied):
    model = net()
    other = copied(model)
    other(wt.ones(2, 5, 6))
    assert type(other[1]) is nn.BatchNorm1d and not other[1]._forward_pre_hooks
    assert model[1].has_uninitialized_params() and len(model[1]._forward_pre_hooks) == 1


def test_moving_and_casting(device):
    norm = nn.LazyBatchNorm2d().to(device, wt.float16).float().to_empty(device=device)
    assert norm.running_mean.dtype is wt.float32 and norm.weight.device == wt.device(device)
    norm(wt.ones(1, 3, 2, 2, device=device))
    assert norm.running_mean.tolist() == pytest.approx([0.1] * 3)
    assert norm.weight.tolist() == [1, 1, 1]


def test_channels_without_a_batch():
    norm = nn.LazyInstanceNorm1d()
    norm(wt.rand(3, 7))
    assert norm.num_features == 3 and repr(norm) == repr(
        nn.InstanceNorm1d(3, affine=True, track_running_stats=True)
    )


def test_ops_refuse_what_has_no_shape():
    weight = nn.UninitializedParameter(requires_grad=False, dtype=wt.float16)
    for op in (lambda w: w + 1, lambda w: w.sum(), lambda w: w.numel(), wt.relu, wt.clone):
        with pytest.raises(ValueError, match="use an uninitialized parameter"):
            op(weight)
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        print(weight.shape)
    weight.materialize((2, 3))
    assert weight.shape == (2, 3) and weight.dtype is wt.float16 and not weight.requires_grad
