"""Hooks on tensors, leaves and nodes: what they see of a gradient, and what they may make of it."""

import pytest
from recorder import N as numbers
from recorder import close, leaf

import wgtorch as torch
from wgtorch.autograd.graph import register_multi_grad_hook


def test_tensor_hooks_see_and_replace_gradients(device):
    x = leaf([1.0, 2.0], device)
    h = x * 2.0
    h.register_hook(lambda g: g * 10.0)
    handle = h.register_hook(lambda g: g * 100.0)
    handle.remove()
    seen = []
    x.register_hook(seen.append)
    h.sum().backward()
    close(x.grad, [20.0, 20.0])
    close(seen[0], [20.0, 20.0])
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        torch.tensor([1.0], device=device).register_hook(print)


def test_a_hook_must_return_a_fitting_gradient():
    x = leaf([1.0, 2.0])
    h = x * 2.0
    handle = h.register_hook(lambda g: g.sum())
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        h.sum().backward(retain_graph=True)
    handle.remove()
    h.register_hook(lambda g: 3.0)
    with pytest.raises(TypeError, match="hook returned 'float'"):
        h.sum().backward()


def test_retain_grad(device):
    x = leaf([1.0, 2.0], device)
    h = x * 2.0
    h.retain_grad()
    h.register_hook(lambda g: g * 3.0)
    assert h.retains_grad and not x.retains_grad
    (h * h).sum().backward()
    close(h.grad, [12.0, 24.0])  # after the hooks
    with pytest.raises(RuntimeError, match="can't retain_grad"):
        torch.tensor([1.0]).retain_grad()


def test_the_grad_of_a_non_leaf_is_asked_for_with_a_warning():
    h = leaf([1.0]) * 2.0
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert h.grad is None


def test_post_accumulate_hooks_are_for_leaves(device):
    x = leaf([1.0, 2.0], device)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append(numbers(t.grad).tolist()))
    (x * 2.0).sum().backward()
    torch.autograd.grad((x * 2.0).sum(), x)
    assert seen == [[2.0, 2.0]]
    handle.remove()
    (x * 2.0).sum().backward()
    assert len(seen) == 1
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf"):
        (x * 2.0).register_post_accumulate_grad_hook(print)


def test_node_hooks_see_both_sides(device):
    x, c = leaf([1.0, 2.0], device), torch.tensor([5.0, 7.0], device=device)
    y = x * c
    seen = []

    def after(grad_inputs, grad_outputs):
        seen.append((len(grad_inputs), grad_inputs[1], numbers(grad_outputs[0]).tolist()))
        return grad_inputs[0] * 2.0, None

    y.grad_fn.register_prehook(lambda grads: (grads[0] * 3.0,))
    y.grad_fn.register_hook(after)
    y.sum().backward()
    assert seen == [(2, None, [3.0, 3.0])]
    close(x.grad, [30.0, 42.0])


def test_multi_grad_hook(device):
    a, b, c = (leaf([1.0, 2.0], device) for _ in range(3))
    every, first = [], []
    handle = register_multi_grad_hook([a, b, c], every.append)
    register_multi_grad_hook([a, b, c], lambda g: first.append(numbers(g).tolist()), mode="any")
    (a * 2.0 + b * 3.0).sum().backward()
    assert len(every) == 1 and every[0][2] is None and len(first) == 1
    close(every[0][1], [3.0, 3.0])
    torch.autograd.grad((a * c).sum(), [c])  # in PyTorch: an error
    assert len(every) == 2 and every[1][0] is None
    handle.remove()
    (a * 2.0).sum().backward()
    assert len(every) == 2
