"""state_dict, load_state_dict, and the hooks around them."""

import re
from collections import OrderedDict

import pytest

import wgtorch as wt
from wgtorch import nn


def net():
    return nn.Sequential(OrderedDict(fc=nn.Linear(2, 3), norm=nn.BatchNorm1d(3)))


NAMES = ["fc.weight", "fc.bias", "norm.weight", "norm.bias", "norm.running_mean",
         "norm.running_var", "norm.num_batches_tracked"]  # fmt: skip


def test_state_is_detached_and_shared():
    model = net()
    state = model.state_dict()
    assert list(state) == NAMES
    assert not state["fc.weight"].requires_grad
    state["fc.bias"].fill_(7)
    assert model.fc.bias.tolist() == [7, 7, 7]
    assert model.state_dict(keep_vars=True)["fc.weight"] is model.fc.weight
    assert next(iter(model.state_dict(prefix="a."))) == "a.fc.weight"
    assert state._metadata["norm"] == {"version": 2} and state._metadata[""] == {"version": 1}


def test_loading_copies_into_the_same_parameters(device):
    source, target = net(), net().to(device)
    weight = target.fc.weight
    assert repr(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert target.fc.weight is weight and weight.tolist() == source.fc.weight.tolist()
    assert weight.device == wt.device(device) and weight.requires_grad
    with wt.no_grad():
        source.fc.weight.fill_(0)
    assert weight.abs().sum().item() > 0


def test_loading_by_assignment_takes_the_tensors_over():
    source, target = net(), net()
    state = source.state_dict()
    target.load_state_dict(state, assign=True)
    assert isinstance(target.fc.weight, nn.Parameter)
    state["fc.weight"].fill_(4)
    assert target.fc.weight.tolist() == [[4, 4]] * 3


def test_what_does_not_fit_is_listed_as_pytorch_lists_it():
    model, state = net(), net().state_dict()
    del state["fc.bias"], state["norm.running_var"]
    state["fc.weight"] = wt.zeros(3, 4)
    state["other"] = state["fc.deep.name"] = wt.zeros(1)
    state["norm.bias"] = 3
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict(state)
    text = str(caught.value)
    assert text.startswith(
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "fc.bias", "norm.running_var". \n'
        '\tUnexpected key(s) in state_dict: "'
    )
    named = re.search(r"Unexpected key\(s\) in state_dict: (.*)\. \n", text)[1]
    assert set(named.split(", ")) == {'"other"', '"fc.deep.name"'}
    assert (
        f"size mismatch for fc.weight: copying a param with shape {wt.zeros(3, 4).shape} from "
        f"checkpoint, the shape in current model is {model.fc.weight.shape}."
    ) in text
    assert (
        'While copying the parameter named "norm.bias", expected torch.Tensor or Tensor-like '
        "object from checkpoint but received <class 'int'>"
    ) in text


def test_loading_leniently_says_what_it_left_out():
    model, state = net(), net().state_dict()
    del state["fc.bias"]
    state["other"] = wt.zeros(1)
    keys = model.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["fc.bias"] and keys.unexpected_keys == ["other"]
    assert "missing_keys=['fc.bias']" in repr(keys)
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'list'>"):
        model.load_state_dict([])


def test_old_batch_norms_count_no_batches():
    state = {name: t for name, t in net().state_dict().items() if "tracked" not in name}
    model = net()
    model.norm.num_batches_tracked.fill_(5)
    model.load_state_dict(state)
    assert model.norm.num_batches_tracked.item() == 5


def test_extra_state_travels():
    class Counts(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    a, b = nn.Sequential(Counts()), nn.Sequential(Counts())
    a[0].count = 3
    assert a.state_dict() == {"0._extra_state": {"count": 3}}
    b.load_state_dict(a.state_dict())
    assert b[0].count == 3
    with pytest.raises(RuntimeError, match='Missing key.*"0._extra_state"'):
        b.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key.*"_extra_state"'):
        nn.ReLU().load_state_dict({"_extra_state": 1})


def test_hooks_around_saving():
    model, calls = net(), []
    model.register_state_dict_pre_hook(lambda m, prefix, keep: calls.append((prefix, keep)))

    def add(module, state, prefix, metadata):
        state[prefix + "added"] = wt.zeros(1)
        assert metadata == {"version": 1}

    handle = model.fc.register_state_dict_post_hook(add)
    assert "fc.added" in model.state_dict() and calls == [("", False)]
    handle.remove()
    model.register_state_dict_post_hook(lambda *a: {})
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        model.state_dict()


def test_hooks_around_loading():
    model, calls = net(), []

    def rename(module, state, prefix, *rest):
        calls.append((type(module).__name__, prefix))
        state[prefix + "weight"] = state.pop(prefix + "kernel")

    with model.fc.register_load_state_dict_pre_hook(rename):
        state = net().state_dict()
        state["fc.kernel"] = state.pop("fc.weight")
        model.load_state_dict(state)
        assert calls == [("Linear", "fc.")] and "fc.kernel" in state
    model.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    assert model.load_state_dict({}).missing_keys == []
    model.register_load_state_dict_post_hook(lambda m, keys: 3)
    with pytest.raises(AssertionError, match="not expected to return new values"):
        model.load_state_dict({})


def test_a_state_is_a_plain_ordered_dict():
    state = net().state_dict()
    assert type(state) is OrderedDict and state._metadata["norm"] == {"version": 2}
