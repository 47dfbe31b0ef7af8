"""Optimizers: steps by hand, groups, state, hooks, misuse."""

import copy
import pickle

import numpy as np
import pytest

import wgtorch as wt
from wgtorch.optim import (
    ASGD,
    LBFGS,
    SGD,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Muon,
    NAdam,
    Optimizer,
    RAdam,
    RMSprop,
    Rprop,
)
from wgtorch.save import load, save


def leaf(values, device="cpu"):
    return wt.tensor(values, device=device, requires_grad=True)


def stepped(optimizer, param, grads):
    """The parameter after a step with each of `grads`."""
    for grad in grads:
        param.grad = wt.full(tuple(param.shape), grad, device=param.device)
        optimizer.step()
    return param.detach().cpu().numpy()


GRADS = [0.5, -2.0, 1.0, 3.0]


def test_sgd_by_hand(device):
    p = leaf([1.0, -2.0], device)
    got = stepped(SGD([p], lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.5), p, GRADS)
    x, total = np.array([1.0, -2.0]), None
    for grad in GRADS:
        grad = grad + 0.5 * x
        total = grad if total is None else 0.9 * total + 0.8 * grad
        x = x - 0.1 * total
    np.testing.assert_allclose(got, x, rtol=1e-6)


def test_nesterov_and_maximize_by_hand(device):
    p = leaf([1.0, -2.0], device)
    got = stepped(SGD([p], lr=0.1, momentum=0.9, nesterov=True, maximize=True), p, GRADS)
    x, total = np.array([1.0, -2.0]), 0.0
    for number, grad in enumerate(GRADS):
        total = -grad if number == 0 else 0.9 * total - grad
        x = x - 0.1 * (-grad + 0.9 * total)
    np.testing.assert_allclose(got, x, rtol=1e-6)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("kind", [Adam, AdamW])
def test_adam_by_hand(kind, amsgrad, device):
    p = leaf([1.0, -2.0], device)
    options = {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.3, "eps": 1e-3}
    got = stepped(kind([p], amsgrad=amsgrad, **options), p, GRADS)
    x, m, v, top = np.array([1.0, -2.0]), 0.0, 0.0, 0.0
    for t, grad in enumerate(GRADS, 1):
        if kind is AdamW:
            x = x * (1 - 0.1 * 0.3)
        else:
            grad = grad + 0.3 * x
        m, v = 0.8 * m + 0.2 * grad, 0.9 * v + 0.1 * grad * grad
        top = np.maximum(top, v)
        scale = np.sqrt((top if amsgrad else v) / (1 - 0.9**t)) + 1e-3
        x = x - 0.1 * m / (1 - 0.8**t) / scale
    np.testing.assert_allclose(got, x, rtol=1e-5)


@pytest.mark.parametrize("kind", [SGD, AdamW])
def test_a_step_can_itself_be_differentiated(kind, device):
    start, grad = leaf([1.0, -2.0], device), leaf([0.5, 3.0], device)

    def after(x, g):
        p = x.clone()
        if p.requires_grad:
            p.retain_grad()
        p.grad = g
        optimizer = kind([p], lr=0.1, weight_decay=0.5, differentiable=True)
        optimizer.step()
        return p

    (after(start, grad) * wt.tensor([1.0, 10.0], device=device)).sum().backward()
    x, g, eps = start.detach(), grad.detach(), 1e-2
    moved = after(x + eps, g) - after(x - eps, g)
    numeric = (moved / (2 * eps)).cpu().numpy() * [1, 10]
    np.testing.assert_allclose(start.grad.cpu().numpy(), numeric, rtol=1e-3)
    wanted = [-0.1, -1.0] if kind is SGD else [0.0, 0.0]  # Adam's first step is a sign
    np.testing.assert_allclose(grad.grad.cpu().numpy(), wanted, atol=1e-3)


def test_parameters_without_gradient_stay():
    p, q = leaf([1.0]), leaf([1.0])
    p.grad = wt.ones(1)
    optimizer = SGD([p, q], lr=0.5, weight_decay=1.0)
    optimizer.step()
    assert p.tolist() == [-0.0] and q.tolist() == [1.0]
    assert p.is_leaf and p.requires_grad


def test_a_step_is_not_recorded_and_training_goes_on(device):
    p = leaf([2.0], device)
    optimizer = AdamW([p], lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        (p - 1.0).square().sum().backward()
        optimizer.step()
    assert abs(p.item() - 1.0) < 0.05 and p.grad_fn is None


def test_groups_have_settings_of_their_own():
    p, q = leaf([0.0]), leaf([0.0])
    optimizer = SGD([{"params": [p], "lr": 1.0}, {"params": q}], lr=0.1)
    optimizer.add_param_group({"params": [r := leaf([0.0])], "lr": 0.01})
    for x in (p, q, r):
        x.grad = wt.ones(1)
    optimizer.step()
    np.testing.assert_allclose([x.item() for x in (p, q, r)], [-1.0, -0.1, -0.01])
    assert [g["lr"] for g in optimizer.param_groups] == [1.0, 0.1, 0.01]


def test_named_parameters():
    optimizer = SGD([("a", leaf([0.0])), ("b", leaf([0.0]))])
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": [leaf([1.0])]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        SGD([("a", leaf([0.0])), leaf([0.0])])


def backward(loss):
    loss.sum().backward()
    return loss.sum()


def test_rprop_by_hand(device):
    p = leaf([1.0], device)
    got = stepped(Rprop([p], lr=0.1), p, [1.0, 2.0, -1.0, -1.0])  # steps .1 .12 none .06
    np.testing.assert_allclose(got, [1 - 0.1 - 0.12 + 0.06], rtol=1e-6)


def test_lbfgs_walks_a_curved_valley_down(device):
    p = leaf([-1.2, 1.0], device)
    optimizer = LBFGS([p], max_iter=60, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        return backward(100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2)

    assert abs(optimizer.step(closure).item() - 24.2) < 1e-4  # the loss at the start
    np.testing.assert_allclose(p.tolist(), [1.0, 1.0], atol=2e-3)


def test_muon_steps_are_orthogonal(device):
    p = wt.zeros(3, 5, device=device, requires_grad=True)
    p.grad = wt.arange(15.0, device=device).reshape(3, 5) ** 2 / 50 - 1
    Muon([p], lr=1.0, weight_decay=0).step()
    sizes = np.linalg.svd(p.detach().cpu().numpy())[1]
    assert 0.5 < sizes[1] <= sizes[0] < 1.3


def test_closures_run_with_gradients_on():
    p = leaf([3.0])
    optimizer = SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with wt.no_grad():
        assert optimizer.step(closure).item() == 9.0
    np.testing.assert_allclose(p.tolist(), [2.4], rtol=1e-6)


def test_gradients_are_dropped_or_zeroed():
    p = leaf([1.0])
    p.grad = wt.ones(1)
    optimizer = SGD([p])
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert p.grad is None


def fresh(kind, device="cpu", **options):
    p = leaf([1.0, 2.0], device)
    return p, kind([p], lr=0.1, **options)


OPTIONS = {SGD: {"momentum": 0.9}, AdamW: {"amsgrad": True}, RMSprop: {"centered": True}}


@pytest.mark.parametrize("kind", [
    SGD, AdamW, RMSprop, Adagrad, Adadelta, Adamax, NAdam, RAdam, ASGD, Rprop, Adafactor,
])  # fmt: skip
def test_state_goes_through_a_file(kind, device, tmp_path):
    options = OPTIONS.get(kind, {})
    p, optimizer = fresh(kind, device, **options)
    stepped(optimizer, p, GRADS[:2])
    save({"p": p.detach(), "optimizer": optimizer.state_dict()}, tmp_path / "checkpoint")
    wanted = stepped(optimizer, p, GRADS[2:])

    q, other = fresh(kind, device, **options)
    loaded = load(tmp_path / "checkpoint")
    q.data.copy_(loaded["p"])
    other.load_state_dict(loaded["optimizer"])
    np.testing.assert_array_equal(stepped(other, q, GRADS[2:]), wanted)


def test_loaded_state_is_a_copy_on_the_device_of_its_parameter(device):
    p, optimizer = fresh(Adam)
    stepped(optimizer, p, GRADS[:1])
    state = optimizer.state_dict()
    state["state"][0]["step"] = wt.tensor(5.0)  # as PyTorch keeps it
    state["param_groups"][0]["lr"] = 0.7
    q, other = fresh(Adam, device)
    other.load_state_dict(state)
    kept = other.state[q]
    assert kept["step"] == 5.0 and isinstance(kept["step"], float)
    assert kept["exp_avg"].device == wt.device(device) and other.param_groups[0]["lr"] == 0.7
    state["state"][0]["exp_avg"].fill_(9)
    assert 9 not in kept["exp_avg"].tolist()


def test_copies_and_pickles_step_alike():
    p, optimizer = fresh(AdamW)
    stepped(optimizer, p, GRADS[:2])
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (q,) = other.param_groups[0]["params"]
        r, again = q.detach().clone().requires_grad_(), copy.deepcopy(other)
        again.param_groups[0]["params"] = [r]
        again.state[r] = again.state.pop(next(iter(again.state)))
        np.testing.assert_array_equal(stepped(other, q, GRADS[2:]), stepped(again, r, GRADS[2:]))


def test_hooks_around_steps_and_state():
    p, optimizer = fresh(SGD)
    calls = []
    pre = optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("pre"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append(p.tolist()))
    p.grad = wt.ones(2)
    optimizer.step()
    pre.remove()
    assert calls == ["pre", [np.float32(0.9), np.float32(1.9)]]
    optimizer.register_state_dict_post_hook(lambda o, state: {"wrapped": state})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: state["wrapped"])
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert calls[-1] == "loaded"


def test_optimizers_of_ones_own():
    class Sign(Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def update(self, param, grad, state, group):
            state["count"] = state.get("count", 0) + 1
            param.add_(grad.sign(), alpha=-group["lr"])

    class Whole(Optimizer):
        def step(self, closure=None):
            return "stepped"

    p = leaf([1.0])
    np.testing.assert_allclose(stepped(Sign([p], 0.25), p, GRADS), [0.5])
    calls, whole = [], Whole([p], {})
    whole.register_step_post_hook(lambda *a: calls.append(1))
    assert whole.step() == "stepped" and calls == [1]
    with pytest.raises(NotImplementedError, match="Optimizer has neither"):
        Optimizer([p], {}).step()


def test_repr_lists_groups():
    text = repr(SGD([leaf([1.0])], lr=0.5))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n")
    assert "    lr: 0.5\n" in text and text.endswith("    weight_decay: 0\n)")


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda p: SGD([], lr=1), ValueError, "optimizer got an empty parameter list"),
        (lambda p: SGD(p), TypeError, "should be an iterable of Tensors or dicts, but got"),
        (lambda p: SGD([3]), TypeError, "one of the params is int"),
        (lambda p: SGD([p * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda p: SGD([{"params": {p}}]), TypeError, "organized in ordered collections"),
        (lambda p: SGD([{"params": p}, {"params": p}]), ValueError,
         "some parameters appear in more than one parameter group"),
        (lambda p: SGD([p], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda p: SGD([p], momentum=-1), ValueError, "Invalid momentum value: -1"),
        (lambda p: SGD([p], nesterov=True), ValueError,
         "Nesterov momentum requires a momentum and zero dampening"),
        (lambda p: Adam([p], betas=(1.0, 0.9)), ValueError,
         "Invalid beta parameter at index 0: 1.0"),
        (lambda p: Adam([p], eps=-1), ValueError, "Invalid epsilon value: -1"),
        (lambda p: AdamW([p], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
        (lambda p: RMSprop([p], momentum=-1), ValueError, "Invalid momentum value: -1"),
        (lambda p: Adagrad([p], lr=wt.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (lambda p: Adadelta([p], rho=2), ValueError, "Invalid rho value: 2"),
        (lambda p: NAdam([p], betas=(0.9, 1)), ValueError,
         "Invalid beta parameter at index 1: 1"),
        (lambda p: Rprop([p], etas=(2, 1)), ValueError, "Invalid eta values: 2, 1"),
        (lambda p: Adafactor([p], d=0.5), ValueError, "d should be >= 1 but is: 0.5"),
        (lambda p: Muon([p]), ValueError, "Muon only supports 2D parameters"),
        (lambda p: LBFGS([{"params": [p]}, {"params": [leaf([1.0])]}]), ValueError,
         "LBFGS doesn't support per-parameter options"),
        (lambda p: LBFGS([p], line_search_fn="wolfe").step(lambda: backward(p * p)), RuntimeError,
         "only 'strong_wolfe' is supported"),
        (lambda p: SGD([p]).add_param_group(3), TypeError, "param_group must be a dict"),
        (lambda p: SGD([p]).load_state_dict({"state": {}, "param_groups": []}), ValueError,
         "different number of parameter groups"),
        (lambda p: SGD([p]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
         ValueError, "doesn't match the size of optimizer's group"),
    ],
)  # fmt: skip
def test_misuse_is_named(act, error, text):
    with pytest.raises(error) as caught:
        act(leaf([1.0]))
    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "NAdam", "RMSprop", "Muon", "LBFGS"])
def test_a_rate_is_one_element_or_none_at_all(name, device):
    kind, w = getattr(wt.optim, name), wt.ones(2, 2, device=device, requires_grad=True)
    for rate in ([0.1, 0.2], []):
        with pytest.raises(ValueError, match="^Tensor lr must be 1-element$"):
            kind([w], lr=wt.tensor(rate, device=device))
    plain = wt.ones(2, 2, device=device, requires_grad=True)
    for rate, p in ((wt.tensor([0.1], device=device), w), (0.1, plain)):
        optimizer = kind([p], lr=rate)
        p.grad = wt.full_like(p, 0.5)
        optimizer.step(lambda p=p: (p * p.grad).sum())
    wt.testing.assert_close(w, plain)
    assert w[0, 0] < 1


def test_adam_takes_tensors_in_steps_for_many_only_if_they_are_captured(device):
    w, rate = wt.ones(2, device=device, requires_grad=True), wt.tensor(0.1, device=device)
    with pytest.raises(ValueError, match="lr as a Tensor is not supported for capturable=False"):
        wt.optim.Adam([w], lr=rate, foreach=True)
    with pytest.raises(ValueError, match=r"betas\[1\] as a Tensor is not supported for capt"):
        wt.optim.AdamW([w], betas=(0.9, rate), foreach=True)
    with pytest.raises(ValueError, match=r"Tensor betas\[0\] must be 1-element"):
        wt.optim.Adam([w], betas=(wt.ones(2), rate))
    wt.optim.Adam([w], lr=rate, foreach=True, capturable=True)
