"""Modules: their registers, state, hooks, modes and moves."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import wgtorch as wt
from wgtorch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.scale = nn.Parameter(wt.ones(1))
        self.register_buffer("seen", wt.zeros(()))
        self.register_buffer("scratch", wt.zeros(2), persistent=False)

    def forward(self, x):
        return self.rest(self.first(x)) * self.scale


def numbers(*shape):
    return wt.tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 10)


# Registers


def test_names_in_order_of_assignment():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale", "first.weight", "first.bias", "rest.1.weight",
    ]  # fmt: skip
    assert [name for name, _ in net.named_buffers()] == ["seen", "scratch"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert [name for name, _ in net.named_children()] == ["first", "rest"]
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == ["net.scale"]


def test_shared_parameters_and_modules_are_given_once():
    net = Net()
    net.tied = net.first
    net.also = net.first.weight
    names = [name for name, _ in net.named_parameters()]
    assert names.count("also") == 1 and "first.weight" not in names
    assert len(list(net.modules())) == 5
    every = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert {"also", "first.weight", "tied.weight"} <= set(every)


def test_assigning_moves_a_name_between_registers():
    net = Net()
    net.scale = None
    assert "scale" not in dict(net.named_parameters()) and net.scale is None
    net.thing = 3
    net.thing = nn.Parameter(wt.ones(2))
    assert "thing" in net._parameters and "thing" not in net.__dict__
    net.first = nn.Parameter(wt.ones(2))
    assert "first" not in net._modules and "first" in net._parameters
    net.seen = wt.ones(())
    assert float(dict(net.named_buffers())["seen"]) == 1
    net.extra = nn.Buffer(wt.ones(3), persistent=False)
    assert "extra" in dict(net.named_buffers()) and "extra" not in net.state_dict()
    del net.extra, net.rest
    assert not hasattr(net, "extra") and not hasattr(net, "rest")
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'rest'"):
        _ = net.rest


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda n: setattr(n, "scale", 3), TypeError,
         "cannot assign 'int' as parameter 'scale' (torch.nn.Parameter or None expected)"),
        (lambda n: setattr(n, "first", "x"), TypeError,
         "cannot assign 'str' as child module 'first' (torch.nn.Module or None expected)"),
        (lambda n: setattr(n, "seen", 1.0), TypeError,
         "cannot assign 'float' as buffer 'seen' (torch.nn.Buffer, torch.Tensor or None expected)"),
        (lambda n: n.register_parameter("a.b", None), KeyError, "parameter name can't contain"),
        (lambda n: n.register_parameter("", None), KeyError, "parameter name can't be empty"),
        (lambda n: n.register_parameter("forward", None), KeyError,
         "attribute 'forward' already exists"),
        (lambda n: n.register_parameter("p", wt.ones(1)), TypeError, "object to parameter 'p'"),
        (lambda n: n.register_buffer(3, None), TypeError,
         "buffer name should be a string. Got int"),
        (lambda n: n.register_buffer("b", 3), TypeError,
         "cannot assign 'int' object to buffer 'b' (torch Tensor or None required)"),
        (lambda n: n.add_module("m", 3), TypeError, "int is not a Module subclass"),
        (lambda n: n.get_submodule("rest.7"), AttributeError, "Sequential has no attribute `7`"),
        (lambda n: n.get_submodule("scale"), AttributeError, "`scale` is not an nn.Module"),
        (lambda n: n.get_parameter("seen"), AttributeError, "`seen` is not an nn.Parameter"),
        (lambda n: n.get_buffer("scale"), AttributeError, "`scale` is not a buffer"),
        (lambda n: n.set_submodule("", nn.ReLU()), ValueError, "without a target name"),
        (lambda n: n.train("yes"), ValueError, "training mode is expected to be boolean"),
        (lambda n: nn.Module()(3), NotImplementedError, 'missing the required "forward" function'),
        (lambda n: n.to(wt.int32), TypeError, "only accepts floating point"),
    ],
)  # fmt: skip
def test_misuse_is_named(act, error, text):
    with pytest.raises(error) as caught:
        act(Net())
    assert text in caught.value.args[0]


def test_a_module_must_be_initialized_first():
    class Early(nn.Module):
        def __init__(self, what):
            self.thing = what
            super().__init__()

    with pytest.raises(AttributeError, match="cannot assign parameters before Module.__init__"):
        Early(nn.Parameter(wt.ones(1)))
    with pytest.raises(AttributeError, match="cannot assign module before Module.__init__"):
        Early(nn.ReLU())
    assert Early(3).thing == 3


def test_paths():
    net = Net()
    assert net.get_submodule("rest.1") is net.rest[1] and net.get_submodule("") is net
    assert net.get_parameter("rest.1.weight") is net.rest[1].weight
    assert net.get_buffer("seen") is net.seen
    net.set_submodule("rest.0", nn.Tanh())
    assert isinstance(net.rest[0], nn.Tanh)


# Modes, gradients, moves


def test_modes_reach_every_child():
    net = Net().eval()
    assert not any(module.training for module in net.modules())
    assert net.train() is net and all(module.training for module in net.modules())


def test_gradients_can_be_stopped_and_dropped():
    net = Net()
    net(numbers(2, 3)).sum().backward()
    assert all(param.grad is not None for param in net.parameters())
    net.zero_grad(set_to_none=False)
    assert float(net.first.weight.grad.abs().sum()) == 0
    net.zero_grad()
    assert all(param.grad is None for param in net.parameters())
    net.requires_grad_(False)
    assert not net(numbers(2, 3)).requires_grad


def test_to_keeps_the_parameter_objects(device):
    net = Net()
    net(numbers(2, 3)).sum().backward()
    params, weight = list(net.parameters()), net.first.weight.tolist()
    net.counter = nn.Buffer(wt.tensor(3))
    assert net.to(device, wt.float16) is net
    assert all(a is b for a, b in zip(params, net.parameters(), strict=True))
    for tensor in [*net.parameters(), *[p.grad for p in params], net.seen]:
        assert tensor.dtype is wt.float16 and tensor.device == wt.device(device)
    assert net.counter.dtype is wt.int64 and net.counter.device == wt.device(device)
    assert all(p.requires_grad and p.is_leaf for p in params)
    np.testing.assert_allclose(net.float().cpu().first.weight.tolist(), weight, rtol=1e-3)
    assert net.first.weight.dtype is wt.float32 and net.first.weight.is_cpu
    assert net.to(wt.zeros(1, device=device)).first.weight.device == wt.device(device)


def test_a_module_trains_on_after_moving(device):
    net = Net().to(device)
    out = net(numbers(2, 3).to(device)).square().sum()
    out.backward()
    assert net.first.weight.grad.device == wt.device(device)
    assert np.abs(net.rest[1].weight.grad.cpu().numpy()).sum() > 0


def test_to_empty_keeps_shapes(device):
    net = Net().to_empty(device=device)
    assert net.first.weight.shape == (4, 3) and net.first.weight.device == wt.device(device)


# Parameters, copies, pickles


def test_a_parameter_is_a_leaf_that_shows_itself():
    param = nn.Parameter(wt.tensor([1.0, 2.0]))
    assert param.requires_grad and param.is_leaf and isinstance(param, wt.Tensor)
    assert repr(param) == "Parameter containing:\ntensor([1., 2.], requires_grad=True)"
    assert type(param * 2) is wt.Tensor
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(wt.tensor([1]))
    assert nn.Parameter(wt.tensor([1]), requires_grad=False).tolist() == [1]


def test_a_parameter_shares_what_it_is_made_of():
    data = wt.zeros(2)
    param = nn.Parameter(data)
    data.fill_(3)
    assert param.tolist() == [3, 3]


def test_the_memory_of_parameters_is_known(device):
    known = wt.autograd.graph.is_parameter_memory
    layer = nn.Linear(2, 3)
    loose = layer.weight.detach().clone()
    layer.to(device)
    for tensor in (layer.weight, layer.weight.detach(), layer.weight.T, layer.bias[1:].detach()):
        assert known(tensor)
    assert not known(loose) and not known(layer.weight * 1)
    layer.weight.data = loose
    assert known(loose)
    held = layer.weight.detach()
    del layer
    assert not known(held)


def test_copies_and_pickles_are_independent(device):
    net = Net().to(device)
    net.tied = net.first
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.tied is other.first and repr(other) == repr(net)
        for (name, a), (_, b) in zip(
            net.state_dict().items(), other.state_dict().items(), strict=True
        ):
            assert a.tolist() == b.tolist(), name
        assert isinstance(other.first.weight, nn.Parameter) and other.first.weight.requires_grad
        with wt.no_grad():
            other.first.weight.fill_(0)
        assert float(net.first.weight.detach().abs().sum()) > 0
        assert other(numbers(1, 3).to(device)).shape == (1, 2)


def test_a_dropped_module_is_gone_at_once():
    net = Net()
    net.register_load_state_dict_pre_hook(lambda *a: None)
    net(numbers(2, 3)).sum().backward()
    gone = weakref.ref(net), weakref.ref(net.first.weight)
    gc.disable()
    try:
        del net
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


# Showing


def test_repr_nests():
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (rest): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=4, out_features=2, bias=False)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    )
    assert repr(nn.Module()) == "Module()"


# First values


def test_layers_start_as_pytorch_does():
    wt.manual_seed(0)
    layer, conv = nn.Linear(400, 300), nn.Conv2d(16, 64, 5)
    for param, fan in ((layer.weight, 400), (layer.bias, 400), (conv.weight, 400)):
        values, bound = param.detach().numpy(), 1 / np.sqrt(fan)
        assert np.abs(values).max() <= bound and np.abs(values).max() > 0.95 * bound
        assert abs(values.std() - bound / np.sqrt(3)) < 0.1 * bound
    table = nn.Embedding(200, 50, padding_idx=3).weight.detach().numpy()
    assert abs(table.std() - 1) < 0.05 and not table[3].any()
    norm = nn.BatchNorm2d(3)
    assert norm.weight.tolist() == [1, 1, 1] and norm.running_var.tolist() == [1, 1, 1]


def test_initializers():
    wt.manual_seed(0)
    x = wt.empty(300, 200)
    assert abs(nn.init.xavier_normal_(x).numpy().std() - np.sqrt(2 / 500)) < 1e-3
    assert abs(nn.init.kaiming_normal_(x, nonlinearity="relu").numpy().std() - 0.1) < 2e-3
    assert np.abs(nn.init.xavier_uniform_(x, 2.0).numpy()).max() <= 2 * np.sqrt(6 / 500)
    assert np.abs(nn.init.trunc_normal_(x, std=1.0, a=-0.5, b=1.0).numpy() - 0.25).max() <= 0.75
    assert nn.init.eye_(wt.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert nn.init.dirac_(wt.empty(2, 1, 3), 2).tolist() == [[[0, 1, 0]], [[0, 1, 0]]]
    for shape in ((3, 5), (5, 3), (3, 2, 2)):
        q = nn.init.orthogonal_(wt.empty(*shape), 2.0).numpy().reshape(shape[0], -1)
        small = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(small, 4 * np.eye(3), atol=1e-5)
    zeros = (nn.init.sparse_(wt.empty(10, 4), 0.3).numpy() == 0).sum(0)
    assert zeros.tolist() == [3] * 4
    assert nn.init.calculate_gain("leaky_relu", 1.0) == 1.0
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        nn.init.xavier_uniform_(wt.empty(3))
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        nn.init.kaiming_uniform_(wt.empty(0, 3))


@pytest.mark.parametrize("shape", [(0, 2, 4), (3, 0, 4), (0, 4)])
def test_attention_of_nothing(device, shape):
    x = wt.zeros(shape, device=device)
    out, weights = nn.MultiheadAttention(4, 2).to(device)(x, x, x)
    assert out.shape == shape
    assert weights.shape == (*shape[1:-1], shape[0], shape[0])


def test_fillers_under_their_older_names():
    weight = wt.empty(2, 3)
    with pytest.warns(FutureWarning, match="`nn.init.constant` is now deprecated in favor of"):
        assert nn.init.constant(weight, 2.0) is weight
    assert weight.tolist() == [[2, 2, 2]] * 2


@pytest.mark.parametrize("count", [1, 4096, 4097])
def test_cross_entropy_of_few_and_of_many(device, count):
    rng = np.random.default_rng(count)
    scores, classes = rng.standard_normal((count, 5)), rng.integers(0, 5, count)
    classes[1::3] = -100
    wide = wt.tensor(scores, requires_grad=True)
    picked = -wt.log_softmax(wide, 1)[wt.arange(count), wt.tensor(classes).clamp(0)]
    want = picked[wt.tensor(classes) >= 0].mean()
    want.backward()
    x = wt.tensor(scores, dtype=wt.float32, device=device, requires_grad=True)
    loss = nn.functional.cross_entropy(x, wt.tensor(classes, device=device))
    loss.backward()
    assert loss.item() == pytest.approx(want.item(), rel=1e-5)
    np.testing.assert_allclose(x.grad.cpu(), wide.grad, rtol=1e-4, atol=1e-7)


def test_cross_entropy_of_nothing_that_counts_is_nan(device):
    x = wt.ones(3, 2, device=device, requires_grad=True)
    loss = nn.functional.cross_entropy(x, wt.full((3,), -100, device=device))
    loss.backward()
    assert loss.isnan().item() and x.grad.eq(0).all().item()
    assert nn.functional.cross_entropy(x[:0], wt.zeros(0, device=device).long()).isnan().item()


def test_cross_entropy_of_few_takes_two_kernels_and_two(webgpu, ran):
    x = wt.randn(128, 10, device=webgpu).requires_grad_(True)
    classes = (wt.arange(128) % 10).to(webgpu)
    for _ in range(2):  # the first fills what gradients begin with
        ran.clear()
        x.grad = None
        nn.functional.cross_entropy(x, classes).backward()
        wt.webgpu.synchronize()
    there = ["_log_softmax", "_class_mean"]
    assert ran == [*there, *[f"{name}_backward" for name in reversed(there)]]
